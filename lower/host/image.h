/* image.h - an object file as an image of the run time; image.c. */
#pragma once

#include "lower/host/host.h"
#include "runtime/runtime.h"

/* The object's code and constants as one image whose entry is `function`. False: error says
** what in it has no place there. */
bool lower_image_link(const char *object, size_t bytes, const char *function,
                      RtImage *image, char *error, size_t n);
