#include "client/cli/completion.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace kamino::client {
namespace {

// The words that may follow a command line such as "kamino admin": commands and
// choices or, once a word begins with a dash, options. The values of an option
// are under its name: "kamino get --output". `takes`: the options that take an
// arbitrary value.
struct Following {
  std::vector<std::pair<std::string, std::string>> words;
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::pair<std::string, std::string>> takes;
};

// The values of an option or argument that has a fixed set of them. The library
// shows them as NAME:{table,json,raw}.
std::vector<std::string> Choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{');
  const size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return absl::StrSplit(type.substr(begin + 1, end - begin - 1), ',');
}

// Records the names of an option that takes a value.
void CollectValue(const CLI::Option& option, const std::string& path,
                  Following* following) {
  if (option.get_items_expected_max() == 0) return;  // a flag
  for (const std::string& name : option.get_lnames()) {
    following->takes.emplace_back(absl::StrCat(path, " --", name), "value");
  }
  for (const std::string& name : option.get_snames()) {
    following->takes.emplace_back(absl::StrCat(path, " -", name), "value");
  }
}

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> Names(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

// Adds the commands as words of the command `help`.
void CollectHelp(const CLI::App& app, const std::string& path,
                 const std::string& options, Following* following) {
  const auto commands = Commands(app);
  following->words.emplace_back(path, absl::StrJoin(Names(commands), " "));
  following->options.emplace_back(path, options);
  for (const CLI::App* command : commands) {
    CollectHelp(*command, absl::StrCat(path, " ", command->get_name()), options,
                following);
  }
}

void Collect(const CLI::App& root, const CLI::App& app, const std::string& path,
             Following* following) {
  const auto commands = Commands(app);
  std::vector<std::string> words = Names(commands);
  std::vector<std::string> options;
  std::vector<std::string> choices;  // of the first argument
  bool first = true;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      if (std::exchange(first, false)) choices = Choices(*option);
      continue;
    }
    CollectValue(*option, path, following);
    for (const std::string& name : option->get_lnames()) {
      options.push_back(absl::StrCat("--", name));
      const auto values = Choices(*option);
      if (values.empty()) continue;
      following->words.emplace_back(absl::StrCat(path, " --", name),
                                    absl::StrJoin(values, " "));
    }
  }
  const std::string all_options = absl::StrJoin(options, " ");
  if (app.get_name() == "help") {
    return CollectHelp(root, path, all_options, following);
  }
  words.insert(words.end(), choices.begin(), choices.end());
  following->words.emplace_back(path, absl::StrJoin(words, " "));
  following->options.emplace_back(path, all_options);
  for (const std::string& choice : choices) {
    following->options.emplace_back(absl::StrCat(path, " ", choice),
                                    all_options);
  }
  for (const CLI::App* command : commands) {
    Collect(root, *command, absl::StrCat(path, " ", command->get_name()),
            following);
  }
}

std::string Function(
    absl::string_view name,
    const std::vector<std::pair<std::string, std::string>>& following) {
  std::string script = absl::StrCat(name, "() {\n  case \"$1\" in\n");
  for (const auto& [path, words] : following) {
    if (words.empty()) continue;
    absl::StrAppend(&script, "    \"", path, "\") echo \"", words, "\" ;;\n");
  }
  absl::StrAppend(&script, "  esac\n}\n");
  return script;
}

std::string Functions(const CLI::App& app) {
  Following following;
  Collect(app, app, "kamino", &following);
  return absl::StrCat(Function("_kamino_words", following.words),
                      Function("_kamino_options", following.options),
                      Function("_kamino_takes", following.takes));
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  return absl::StrCat(Functions(app), R"sh(_kamino() {
  local path=kamino word words option=""
  local this="${COMP_WORDS[COMP_CWORD]}"
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [ -n "$option" ]; then
      # Its value; --output=json is three words.
      [ "$word" = "=" ] || option=""
      continue
    fi
    case "$word" in
      -*) [ -n "$(_kamino_takes "$path $word")" ] && option="$word" ;;
      *) [ -n "$(_kamino_options "$path $word")" ] && path="$path $word" ;;
    esac
  done
  [ "$this" = "=" ] && this=""
  if [ -n "$option" ]; then
    words="$(_kamino_words "$path $option")"
  else
    case "$this" in
      -*) words="$(_kamino_options "$path")" ;;
      *) words="$(_kamino_words "$path")" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$this"))
}
complete -o default -F _kamino kamino
)sh");
}

std::string ZshCompletion(const CLI::App& app) {
  return absl::StrCat("#compdef kamino\n", Functions(app), R"sh(_kamino() {
  local so_far=kamino word option=""
  local -a choices
  for word in "${(@)words[2,CURRENT-1]}"; do
    if [[ -n "$option" ]]; then
      option=""  # its value
    elif [[ "$word" == -* ]]; then
      [[ -n "$(_kamino_takes "$so_far $word")" ]] && option="$word"
    elif [[ -n "$(_kamino_options "$so_far $word")" ]]; then
      so_far="$so_far $word"
    fi
  done
  if [[ -z "$option" && "$PREFIX" == --*=* ]]; then
    option="${PREFIX%%=*}"
    compset -P '--*='
  fi
  if [[ -n "$option" ]]; then
    choices=(${=$(_kamino_words "$so_far $option")})
  else
    case "$PREFIX" in
      -*) choices=(${=$(_kamino_options "$so_far")}) ;;
      *) choices=(${=$(_kamino_words "$so_far")}) ;;
    esac
  fi
  if (( $#choices )); then compadd -- $choices; else _files; fi
}
# From a folder of $fpath the first completion runs the whole file.
if [[ "${funcstack[1]}" == _kamino ]]; then
  _kamino "$@"
else
  compdef _kamino kamino
fi
)sh");
}

}  // namespace kamino::client
