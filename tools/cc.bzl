"""C++ targets as the native rules make them, except that the compiler parses the
headers that nearly every file includes only once: they are half of the time that
a file takes.

  load("//tools:cc.bzl", "cc_library", "cc_test")

Sources that are always used together can be compiled together: `joined = 8`
makes translation units of up to eight of a target's sources. What they share is
parsed and instantiated once. `apart` names sources that stay alone, such as
those with planted faults: tests link a copy in their place (docs/testing/
faults.md).

--define=precompiled=off does without both; a header that a file forgets to
include shows up then.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    # The compiler takes the precompiled header for the one beside it, which
    # has to be found where the sources' folders are not.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.symlink(output = header, target_file = ctx.file.header)
    precompiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = precompiled.path,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts,
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = context.defines,
        use_pic = True,
    )
    arguments = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = variables,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
        ),
        arguments = ["-x", "c++-header"] + arguments,
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        inputs = depset(
            [header, ctx.file.header] + ctx.files.hdrs,
            transitive = [toolchain.all_files, context.headers],
        ),
        outputs = [precompiled],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling " + ctx.file.header.short_path,
    )
    return [
        DefaultInfo(files = depset([precompiled])),
        CcInfo(compilation_context = cc_common.create_compilation_context(
            headers = depset([header, precompiled]),
        )),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "header": attr.label(allow_single_file = [".inc"], mandatory = True),
        # Files that it includes: themselves, or by the libraries that have them.
        "hdrs": attr.label_list(allow_files = [".h", ".inc"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

# Packages, with those below them, whose speed no user notices: they compile a
# fifth faster with fewer optimisations.
_COLD = [
    "client/cli",
    "config",
    "membership",
    "node/check",
    "security",
    "server",
    "web",
]

def _optimisation():
    package = native.package_name()
    for cold in _COLD:
        if package == cold or package.startswith(cold + "/"):
            return ["-O1"]
    return []

def _with(precompiled, kwargs):
    # The compiler uses a precompiled header only if nothing precedes it.
    header = precompiled[2:].replace(":", "/") + ".h"
    kwargs["copts"] = select({
        "//tools:without_precompiled": [],
        "//conditions:default": ["-include", header, "-Winvalid-pch"],
    }) + _optimisation() + kwargs.get("copts", [])
    kwargs["deps"] = kwargs.get("deps", []) + select({
        "//tools:without_precompiled": [],
        "//conditions:default": [precompiled],
    })
    return kwargs

def _join(joined, apart, kwargs):
    if joined == 0:
        return kwargs
    name = kwargs["name"]
    srcs = kwargs["srcs"]
    files = [src for src in srcs if src.endswith(".cc") and src not in apart]
    units = []
    for begin in range(0, len(files), joined):
        unit = "%s_joined_%d" % (name, begin // joined)
        includes = [
            "'#include \"%s/%s\"'" % (native.package_name(), file)
            for file in files[begin:begin + joined]
        ]
        native.genrule(
            name = unit,
            outs = [unit + ".cc"],
            cmd = "printf '%%s\\n' %s > $@" % " ".join(includes),
            visibility = ["//visibility:private"],
        )
        units.append(unit + ".cc")
    native.cc_library(
        name = name + "_joined",
        textual_hdrs = files,
        visibility = ["//visibility:private"],
    )
    kwargs["srcs"] = select({
        "//tools:without_precompiled": srcs,
        "//conditions:default": [src for src in srcs if src not in files] + units,
    })
    kwargs["deps"] = kwargs.get("deps", []) + [":" + name + "_joined"]
    return kwargs

def cc_library(precompiled = "//tools:precompiled", joined = 0, apart = [], **kwargs):
    native.cc_library(**_with(precompiled, _join(joined, apart, kwargs)))

def cc_binary(joined = 0, apart = [], **kwargs):
    native.cc_binary(**_with("//tools:precompiled", _join(joined, apart, kwargs)))

def cc_test(copts = [], precompiled = "//tools:precompiled_test", **kwargs):
    # A test spends its time in the libraries. Its own files take two thirds of
    # the time to compile with fewer optimisations.
    kwargs["copts"] = ["-O1"] + copts
    native.cc_test(**_with(precompiled, kwargs))
