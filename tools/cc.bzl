"""C++ targets as the native rules make them, except that the compiler parses the
headers that nearly every file includes only once: they are half of the time that
a file takes.

  load("//tools:cc.bzl", "cc_library", "cc_test")

`joined = 8` compiles up to eight sources of a target as one translation unit,
which parses shared headers once. Names in unnamed namespaces must differ within
a unit. `apart` lists sources that are compiled alone: sources with such a name,
and sources with planted faults, of which tests link a changed copy
(docs/testing/faults.md).

`--define=precompiled=off` compiles each source alone and without precompiled
headers, so that a missing include is an error.
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

    # gcc looks for the .gch file beside the header, so the header is linked into
    # the output folder.
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
        # The header keeps the list of its files only if one is asked for.
        arguments = ["-x", "c++-header", "-MD", "-MF", "/dev/null"] + arguments,
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
        # Bazel refuses objects that depend on files which are no inputs. So a
        # target that includes one of these without a dependency shows only with
        # --define=precompiled=off.
        CcInfo(compilation_context = cc_common.create_compilation_context(
            headers = depset(
                [header, ctx.file.header, precompiled] + ctx.files.hdrs,
                transitive = [context.headers],
            ),
        )),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "header": attr.label(allow_single_file = [".inc"], mandatory = True),
        # The files that the header includes; `deps` has those that belong to
        # libraries.
        "hdrs": attr.label_list(allow_files = [".h", ".inc"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

# Packages (with their subpackages) whose speed does not matter to users. With
# -O1 they compile a fifth faster.
_COLD = [
    "client/cli",
    "config",
    "membership",
    "node/check",
    "security",
    "server",
    "web",
]

_PRECOMPILED_FLAGS = [
    "-Winvalid-pch",
    # Bazel takes a file's headers from the compiler's list. Without this flag
    # the list lacks those that are precompiled, and a change of one would leave
    # objects behind that contradict it.
    "-fpch-deps",
    # gcc collects garbage once its heap has grown by a part, which a
    # precompiled header alone exceeds: a tenth of a file's time. In KiB.
    "--param=ggc-min-heapsize=1048576",
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
        "//conditions:default": ["-include", header] + _PRECOMPILED_FLAGS,
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
    for src in apart:
        if src not in srcs:
            fail("apart: %s is not a source" % src)
    shared = {
        key: kwargs[key]
        for key in ["tags", "testonly"]
        if key in kwargs
    }
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
            **shared
        )
        units.append(unit + ".cc")
    native.cc_library(
        name = name + "_joined",
        textual_hdrs = files,
        visibility = ["//visibility:private"],
        **shared
    )
    kwargs["srcs"] = select({
        "//tools:without_precompiled": srcs,
        "//conditions:default": [src for src in srcs if src not in files] + units,
    })
    kwargs["deps"] = kwargs.get("deps", []) + [":" + name + "_joined"]
    return kwargs

def cc_library(precompiled = "//tools:precompiled", joined = 0, apart = [], **kwargs):
    # Programs link statically (.bazelrc), so nothing needs a shared library.
    kwargs["linkstatic"] = True
    native.cc_library(**_with(precompiled, _join(joined, apart, kwargs)))

def cc_binary(joined = 0, apart = [], **kwargs):
    native.cc_binary(**_with("//tools:precompiled", _join(joined, apart, kwargs)))

def cc_test(copts = [], precompiled = "//tools:precompiled_test", **kwargs):
    # A test spends its time in the libraries. Its own files take two thirds of
    # the time to compile with fewer optimisations.
    kwargs["copts"] = ["-O1"] + copts
    native.cc_test(**_with(precompiled, kwargs))
