/* image.c - a linker for one object file of ours: sections to an image, see runtime/image.c.
**
**     .text  .rodata…  ─► one behind the other ─► stubs ─► (page) table
**     relocations between them: distances, which are known now
**     calls of other symbols:   distance to a stub, which jumps through the table
**
** Law 1: what is not known to be right is refused: the kernel then gets its code from ORC and
**        is not kept on disk. Known are read-only sections and the relocations of apply().
*/
#include "lower/host/image.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 4096,
    STUB = 8,      /* bytes: ff 25 distance, jmp *distance(%rip) */
    STUB_CODE = 6, /* of these, up to where the distance counts from */
    IMAGE_MAX = 16 << 20,
    TRAP = 0xcc,
};

typedef struct Link {
    const char *object;
    size_t bytes;
    const Elf64_Shdr *sections;
    uint32_t nsections;
    const Elf64_Sym *symbols;
    uint32_t nsymbols;
    const char *names;
    uint32_t *placed;  /* by section: its offset + 1, or 0 */
    uint32_t *outside; /* by symbol: its number in the table + 1, or 0 */
    uint32_t size;     /* of the placed sections */
    uint32_t stubs, table, noutside;
    size_t names_bytes;
    char *code;
    const char *trouble;
} Link;

static bool
fail(Link *link, const char *trouble)
{
    if (!link->trouble)
        link->trouble = trouble;
    return false;
}

static uint32_t
aligned(uint32_t offset, uint32_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

/* -- Reading the object --------------------------------------------------- */

static bool
open_object(Link *link)
{
    const Elf64_Ehdr *head = (const void *)link->object;
    const Elf64_Shdr *table = NULL;

    if (link->bytes < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
        head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_type != ET_REL)
        return fail(link, "no object file");
    if (head->e_machine != EM_X86_64)
        return fail(link, "images are made for x86-64 only");
    link->sections = (const void *)(link->object + head->e_shoff);
    link->nsections = head->e_shnum;
    for (uint32_t i = 0; i < link->nsections; i++)
        if (link->sections[i].sh_type == SHT_SYMTAB)
            table = &link->sections[i];
    if (!table)
        return fail(link, "no symbols");
    link->symbols = (const void *)(link->object + table->sh_offset);
    link->nsymbols = (uint32_t)(table->sh_size / sizeof *link->symbols);
    link->names = link->object + link->sections[table->sh_link].sh_offset;
    link->placed = calloc(link->nsections, sizeof *link->placed);
    link->outside = calloc(link->nsymbols + 1, sizeof *link->outside);
    return (link->placed && link->outside) || fail(link, "out of memory");
}

/* Code first, then constants. */
static bool
place_sections(Link *link, bool code)
{
    for (uint32_t i = 0; i < link->nsections; i++) {
        const Elf64_Shdr *section = &link->sections[i];
        uint32_t alignment =
            section->sh_addralign ? (uint32_t)section->sh_addralign : 1;

        if (!(section->sh_flags & SHF_ALLOC) || !section->sh_size ||
            !!(section->sh_flags & SHF_EXECINSTR) != code)
            continue;
        if (section->sh_type != SHT_PROGBITS ||
            section->sh_flags & (SHF_WRITE | SHF_TLS | SHF_COMPRESSED))
            return fail(link, "a section that is not code or constants");
        if (section->sh_addralign > PAGE || section->sh_size > IMAGE_MAX)
            return fail(link, "a section that is too large");
        link->size = aligned(link->size, alignment);
        link->placed[i] = link->size + 1;
        link->size += (uint32_t)section->sh_size;
        if (link->size > IMAGE_MAX)
            return fail(link, "too much code");
    }
    return true;
}

/* -- Relocations ---------------------------------------------------------- */

typedef bool (*RelocationFn)(Link *link, uint32_t section,
                             const Elf64_Rela *relocation);

static bool
each_relocation(Link *link, RelocationFn work)
{
    for (uint32_t i = 0; i < link->nsections; i++) {
        const Elf64_Shdr *section = &link->sections[i];
        const Elf64_Rela *at = (const void *)(link->object + section->sh_offset);
        uint32_t to = section->sh_info;

        if (section->sh_type != SHT_RELA && section->sh_type != SHT_REL)
            continue;
        if (to >= link->nsections || !link->placed[to])
            continue;
        if (section->sh_type == SHT_REL)
            return fail(link, "relocations of another form");
        for (size_t k = 0; k < section->sh_size / sizeof *at; k++)
            if (!work(link, to, &at[k]))
                return false;
    }
    return true;
}

/* Gives symbols that are not in the object their numbers. */
static bool
number_symbol(Link *link, uint32_t section, const Elf64_Rela *relocation)
{
    uint32_t i = (uint32_t)ELF64_R_SYM(relocation->r_info);
    const Elf64_Sym *symbol = &link->symbols[i];

    (void)section;
    if (i >= link->nsymbols)
        return fail(link, "a relocation to no symbol");
    if (symbol->st_shndx != SHN_UNDEF) {
        if (symbol->st_shndx >= link->nsections || !link->placed[symbol->st_shndx])
            return fail(link, "a symbol that is not in code or constants");
        return true;
    }
    if (!link->names[symbol->st_name])
        return fail(link, "a symbol without a name");
    if (!link->outside[i]) {
        link->outside[i] = ++link->noutside;
        link->names_bytes += strlen(link->names + symbol->st_name) + 1;
    }
    return true;
}

static bool
apply(Link *link, uint32_t section, const Elf64_Rela *relocation)
{
    uint32_t i = (uint32_t)ELF64_R_SYM(relocation->r_info), outside = link->outside[i];
    const Elf64_Sym *symbol = &link->symbols[i];
    int64_t place = (int64_t)(link->placed[section] - 1 + relocation->r_offset), to;
    int32_t distance;

    if (relocation->r_offset + sizeof distance > link->sections[section].sh_size)
        return fail(link, "a relocation outside of its section");
    to = outside ? 0 : (int64_t)(link->placed[symbol->st_shndx] - 1 + symbol->st_value);
    switch (ELF64_R_TYPE(relocation->r_info)) {
    case R_X86_64_PC32:
        if (outside)
            return fail(link, "data outside of the object");
        break;
    case R_X86_64_PLT32:
        if (outside)
            to = link->stubs + (int64_t)(outside - 1) * STUB;
        break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        if (!outside)
            return fail(link, "a table of its own addresses");
        to = link->table + (int64_t)(outside - 1) * 8;
        break;
    default:
        return fail(link, "a relocation of another kind");
    }
    distance = (int32_t)(to + relocation->r_addend - place);
    memcpy(link->code + place, &distance, sizeof distance);
    return true;
}

/* -- The image ------------------------------------------------------------ */

static void
write_stubs(Link *link)
{
    for (uint32_t k = 0; k < link->noutside; k++) {
        char *stub = link->code + link->stubs + (size_t)k * STUB;
        int32_t distance =
            (int32_t)(link->table + k * 8 - (link->stubs + k * STUB + STUB_CODE));

        memcpy(stub, "\xff\x25", 2);
        memcpy(stub + 2, &distance, sizeof distance);
    }
}

static void
write_names(const Link *link, char *to)
{
    for (uint32_t number = 1; number <= link->noutside; number++)
        for (uint32_t i = 0; i < link->nsymbols; i++)
            if (link->outside[i] == number) {
                const char *name = link->names + link->symbols[i].st_name;

                memcpy(to, name, strlen(name) + 1);
                to += strlen(name) + 1;
            }
}

static bool
find_entry(Link *link, const char *function, uint32_t *entry)
{
    for (uint32_t i = 0; i < link->nsymbols; i++) {
        const Elf64_Sym *symbol = &link->symbols[i];
        uint32_t section = symbol->st_shndx;

        if (section < link->nsections && link->placed[section] &&
            !strcmp(link->names + symbol->st_name, function)) {
            *entry = (uint32_t)(link->placed[section] - 1 + symbol->st_value);
            return true;
        }
    }
    return fail(link, "the function is not there");
}

static bool
link_object(Link *link, const char *function, RtImage *image)
{
    uint32_t bytes;

    if (!open_object(link) || !place_sections(link, true) ||
        !place_sections(link, false) || !each_relocation(link, number_symbol))
        return false;
    link->stubs = aligned(link->size, 16);
    bytes = link->noutside ? link->stubs + link->noutside * STUB : link->size;
    link->table = link->noutside ? aligned(bytes, PAGE) : 0;
    link->code = malloc(bytes + link->names_bytes + 1);
    if (!link->code)
        return fail(link, "out of memory");
    memset(link->code, TRAP, bytes);
    for (uint32_t i = 0; i < link->nsections; i++)
        if (link->placed[i])
            memcpy(link->code + link->placed[i] - 1,
                   link->object + link->sections[i].sh_offset,
                   link->sections[i].sh_size);
    write_stubs(link);
    write_names(link, link->code + bytes);
    if (!find_entry(link, function, &image->entry) || !each_relocation(link, apply))
        return false;
    image->code = image->memory = link->code;
    image->bytes = bytes;
    image->table = link->table;
    image->nsymbols = link->noutside;
    image->names_bytes = (uint32_t)link->names_bytes;
    image->names = link->code + bytes;
    return true;
}

bool
lower_image_link(const char *object, size_t bytes, const char *function, RtImage *image,
                 char *error, size_t n)
{
    Link link = {.object = object, .bytes = bytes};
    bool done;

    *image = (RtImage){0};
    done = link_object(&link, function, image);
    if (!done) {
        snprintf(error, n, "no image: %s", link.trouble);
        free(link.code);
        *image = (RtImage){0};
    }
    free(link.placed);
    free(link.outside);
    return done;
}
