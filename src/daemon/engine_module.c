/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "io/parts.h"

int engine_module_open(const char *name, const struct engine_options *options, struct engine **ret,
                       struct error *err)
{
    AUTO_FREE char *file = mem_printf("tarn-engine-%s.so", name), *path = NULL;
    int code = 0;

    if (strchr(name, '/'))
        path = mem_string(name);
    else
        code = part_find(file, "src/engine", &path, err);
    if (code < 0)
        return error_prefix(err, code, "engine '%s': expected local or a module", name);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return error_set(err, -ENOENT, "engine %s", dlerror());
    const struct engine_module *module = dlsym(object, "tarn_engine_module");
    if (!module || module->version != ENGINE_MODULE_VERSION) {
        code = error_set(err, -ENOEXEC,
                         "engine %s: not an engine module for version %d of the interface", path,
                         ENGINE_MODULE_VERSION);
        dlclose(object);
        return code;
    }
    return module->create(options, ret, err);
}
