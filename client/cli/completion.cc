#include "client/cli/completion.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kamino::client {
namespace {

// What may follow a command, named by its words: "kamino admin".
using Following = std::vector<std::pair<std::string, std::string>>;

void Collect(const CLI::App& app, const std::string& path,
             Following* following) {
  std::vector<std::string> words;
  const auto commands =
      app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) words.push_back(command->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      words.push_back(absl::StrCat("--", name));
    }
  }
  following->emplace_back(path, absl::StrJoin(words, " "));
  for (const CLI::App* command : commands) {
    Collect(*command, absl::StrCat(path, " ", command->get_name()), following);
  }
}

std::string Function(const CLI::App& app) {
  Following following;
  Collect(app, "kamino", &following);
  std::string script = "_kamino_words() {\n  case \"$1\" in\n";
  for (const auto& [path, words] : following) {
    absl::StrAppend(&script, "    \"", path, "\") echo \"", words, "\" ;;\n");
  }
  absl::StrAppend(&script, "  esac\n}\n");
  return script;
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  return absl::StrCat(Function(app), R"sh(_kamino() {
  local path=kamino word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [ -n "$(_kamino_words "$path $word")" ] && path="$path $word"
  done
  COMPREPLY=($(compgen -W "$(_kamino_words "$path")" -- \
    "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _kamino kamino
)sh");
}

std::string ZshCompletion(const CLI::App& app) {
  return absl::StrCat("#compdef kamino\n", Function(app), R"sh(_kamino() {
  local path_so_far=kamino word
  for word in "${words[@]:1:CURRENT-2}"; do
    [[ -n "$(_kamino_words "$path_so_far $word")" ]] &&
      path_so_far="$path_so_far $word"
  done
  compadd -- ${=$(_kamino_words "$path_so_far")} || _files
}
compdef _kamino kamino
)sh");
}

}  // namespace kamino::client
