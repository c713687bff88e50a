"""What Kamino's build needs of this machine, for workspaces that use it.

  local_repository(name = "kamino", path = ...)
  load("@kamino//tools:repositories.bzl", "kamino_repositories")
  kamino_repositories()
"""

def _folder_impl(ctx):
    folder = ctx.path(ctx.attr.marker).dirname if ctx.attr.marker else ctx.path(ctx.attr.path)
    for entry in folder.readdir():
        ctx.symlink(entry, entry.basename)

# A folder as a repository: one of the machine's, or the one that `marker`, a
# file of Kamino's tree, is in, wherever that tree is.
_folder = repository_rule(
    implementation = _folder_impl,
    attrs = {
        "marker": attr.label(allow_single_file = True),
        "path": attr.string(),
    },
    local = True,
)

# Debian's folders, and Kamino's own.
_PATHS = {
    "bazel_skylib": "/usr/share/bazel/tools/skylib",
    "platforms": "/usr/share/bazel/platforms",
    "rules_java": "/usr/share/bazel/rules/java",
    "rules_proto": "/usr/share/bazel/rules/proto",
}

_MARKERS = {
    "remote_coverage_tools": "//:third_party/stubs/remote_coverage_tools/WORKSPACE",
    "rules_cc": "//:third_party/stubs/rules_cc/WORKSPACE",
    "system": "//:third_party/system/WORKSPACE",
}

def kamino_repositories():
    """Repositories that Bazel would download or that Kamino's targets name.

    One that the workspace has defined before is left as it is.
    """
    defined = native.existing_rules()
    for name, path in _PATHS.items():
        if name not in defined:
            _folder(name = name, path = path)
    for name, marker in _MARKERS.items():
        if name not in defined:
            _folder(name = name, marker = Label(marker))
