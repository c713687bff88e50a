"""The maps of libpmemobj's examples, which Debian installs as documentation."""

_PATH = "/usr/share/doc/libpmemobj-dev/examples"

def _impl(ctx):
    if not ctx.path(_PATH).exists:
        fail("%s is missing: install libpmemobj-dev together with its documentation" % _PATH)
    for folder in ("hashmap", "list_map", "map", "tree_map"):
        ctx.symlink(_PATH + "/" + folder, folder)
    ctx.symlink(ctx.attr.header, "ex_common.h")
    ctx.symlink(ctx.attr.build, "BUILD")

pmemobj_examples = repository_rule(
    implementation = _impl,
    attrs = {
        "build": attr.label(default = "//third_party/pmemobj_examples:maps.BUILD"),
        "header": attr.label(default = "//third_party/pmemobj_examples:ex_common.h"),
    },
    local = True,
)
