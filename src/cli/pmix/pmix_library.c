/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pmix/pmix_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/compiler.h"

int pmix_library_load(struct pmix_library *ret, struct error *err)
{
    static const char file[] = "libpmix.so.2";
    const struct {
        const char *name;
        void *at;
    } functions[] = {
#define FUNCTION(name) { #name, &ret->name },
#include "cli/pmix/pmix_library.def"
#undef FUNCTION
    };
    void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);

    if (!library)
        return error_set(err, -ENOENT,
                         "%s cannot be loaded; expected the library of OpenPMIx: apt-get install "
                         "libpmix2",
                         file);
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (!symbol)
            return error_set(err, -ENOENT, "%s has no %s; expected OpenPMIx 3 or later", file,
                             functions[i].name);
        memcpy(functions[i].at, &symbol, sizeof(symbol));
    }
    return 0;
}
