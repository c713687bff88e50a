#include "client/cli/settings.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "CLI/Validators.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/address.h"
#include "base/status_macros.h"
#include "client/cli/client_config.h"

namespace kamino::client {
using security::CheckComplete;
using security::TlsNamedBy;

namespace {

constexpr char kGroup[] = "Options of all commands";

// Sources of addresses, in Settings::located_by.
constexpr char kCommandLine[] = "the command line";
constexpr char kEnvironment[] = "the environment";

// Parses "host:port,...".
absl::StatusOr<std::vector<std::string>> Addresses(absl::string_view from,
                                                   absl::string_view text) {
  auto addresses = SplitAddresses(text);
  if (addresses.ok()) return addresses;
  return absl::InvalidArgumentError(
      absl::StrCat(from, ": ", addresses.status().message()));
}

// Rejects an empty value, for example of an unset variable, which the library
// would ignore.
CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](std::string& text) {
        return std::string(text.empty() ? "its value is empty" : "");
      },
      "");
}

void AddAddresses(CLI::App* app, const std::string& name,
                  std::vector<std::string>* addresses,
                  const std::string& description) {
  app->add_option_function<std::string>(
         name,
         [addresses, name](const std::string& text) {
           auto parsed = Addresses(name, text);
           if (!parsed.ok()) {
             throw CLI::ValidationError(std::string(parsed.status().message()));
           }
           if (parsed->empty()) {
             throw CLI::ValidationError(name, "it names no address");
           }
           *addresses = *std::move(parsed);
         },
         description)
      ->type_name("HOST:PORT,...")
      ->group(kGroup);
}

// Those of AddSettings.
std::vector<CLI::Option*> OptionsOf(CLI::App& app) {
  return app.get_options([](CLI::Option* option) {
    return option->get_group() == kGroup && !option->get_lnames().empty();
  });
}

// Whether no file has this name. The caller that opens the file reports one
// that exists and cannot be read.
bool IsAbsent(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) != 0 &&
         (errno == ENOENT || errno == ENOTDIR);
}

std::string DefaultConfig(const Environment& environment) {
  std::string folder = environment("XDG_CONFIG_HOME");
  if (folder.empty() && !environment("HOME").empty()) {
    folder = environment("HOME") + "/.config";
  }
  return folder.empty() ? "" : folder + "/kamino/config.toml";
}

bool Knows(const Settings& settings) {
  return !settings.seeds.empty() || !settings.managers.empty();
}

absl::Status ReadEnvironment(const Environment& environment,
                             Settings* settings) {
  ASSIGN_OR_RETURN(settings->seeds,
                   Addresses("KAMINO_SEEDS", environment("KAMINO_SEEDS")));
  ASSIGN_OR_RETURN(
      settings->managers,
      Addresses("KAMINO_MANAGERS", environment("KAMINO_MANAGERS")));
  return absl::OkStatus();
}

// Options that environment variables also set, with their names.
const std::map<std::string, const char*>& TlsVariables() {
  static const auto* variables = new std::map<std::string, const char*>{
      {"tls_ca", "KAMINO_TLS_CA"},
      {"tls_cert", "KAMINO_TLS_CERT"},
      {"tls_crl_dir", "KAMINO_TLS_CRL_DIR"},
      {"tls_key", "KAMINO_TLS_KEY"}};
  return *variables;
}

// Whether a source of higher priority sets the option, or one that conflicts
// with it. `said`: the options of these sources.
bool IsSaid(const std::string& name, const std::set<std::string>& said) {
  if (said.count(name) > 0) return true;
  if (name == "tls_cert") return IsSaid("tls_key", said);
  if (name == "insecure") {
    return std::any_of(
        TlsVariables().begin(), TlsVariables().end(),
        [&said](const auto& each) { return said.count(each.first) > 0; });
  }
  const bool of_tls = TlsVariables().count(name) > 0;
  return (of_tls && said.count("insecure") > 0) ||
         (name == "tls_key" && said.count("tls_cert") > 0);
}

// Sets options that neither the command line nor the environment sets.
absl::Status SetOptions(const ClientConfig& config, const std::string& path,
                        Settings* settings) {
  const std::set<std::string> typed = settings->typed;
  std::set<std::string> said = typed;
  for (const auto& [name, place] : settings->places) said.insert(name);
  for (const auto& [name, value] : config.options) {
    if (IsSaid(name, said)) continue;
    CLI::App app;
    AddSettings(&app, settings);
    const CLI::Option* option = app.get_option("--" + name);
    const bool flag = option->get_items_expected_max() == 0;
    if (flag && value.text == "false") continue;
    const std::string place = absl::StrCat(path, ":", value.line);
    try {
      app.parse(std::vector<std::string>{
          flag ? "--" + name : absl::StrCat("--", name, "=", value.text)});
    } catch (const CLI::ParseError& error) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": ", error.what()));
    }
    settings->places[name] = place;
  }
  settings->typed = typed;
  return absl::OkStatus();
}

// Locates by a cluster of the configuration file; `cluster`: its name, "":
// current.
absl::Status LocateCluster(const std::string& cluster,
                           const Environment& environment, Settings* settings) {
  std::string path = settings->config;
  if (path.empty()) path = environment("KAMINO_CONFIG");
  const bool asked_for = !path.empty();
  if (!asked_for) path = DefaultConfig(environment);
  if (IsAbsent(path)) {
    if (!asked_for && cluster.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no configuration file", path.empty() ? "" : " ", path,
        asked_for ? ""
                  : absl::StrCat("; --cluster=", cluster,
                                 " takes its addresses from there")));
  }
  ASSIGN_OR_RETURN(
      const ClientConfig config,
      ReadClientConfig(path, cluster, settings->servers, OptionsOfFiles()));
  if (config.cluster.empty()) {
    if (settings->config.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": it sets no current cluster; name one by --cluster"));
  }
  settings->seeds = config.seeds;
  settings->managers = config.managers;
  settings->located_by = absl::StrCat("cluster ", config.cluster, " of ", path);
  return SetOptions(config, path, settings);
}

absl::Status Find(const Environment& environment, Settings* settings) {
  std::string* const by = &settings->located_by;
  if (!by->empty()) return absl::OkStatus();
  if (Knows(*settings)) {
    if (!settings->cluster.empty() || !settings->config.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(settings->cluster.empty() ? "--config" : "--cluster",
                       " says where the cluster is, and so does ",
                       settings->seeds.empty() ? "--managers" : "--seeds",
                       ": use one or the other"));
    }
    *by = kCommandLine;
    return absl::OkStatus();
  }
  if (!settings->cluster.empty()) {
    return LocateCluster(settings->cluster, environment, settings);
  }
  // The command line precedes the environment.
  if (settings->config.empty()) {
    RETURN_IF_ERROR(ReadEnvironment(environment, settings));
    if (Knows(*settings)) {
      *by = kEnvironment;
      return absl::OkStatus();
    }
  }
  return LocateCluster(environment("KAMINO_CLUSTER"), environment, settings);
}

void AddTls(CLI::App* app, Settings* settings) {
  security::TlsFiles* const tls = &settings->tls;
  const auto add = [app](const char* name, std::string* path, const char* type,
                         const char* description) {
    app->add_option(name, *path, description)
        ->check(NotEmpty())
        ->type_name(type)
        ->group(kGroup);
  };
  add("--tls_cert", &tls->certificate, "FILE",
      "The caller's certificate (PEM) [KAMINO_TLS_CERT].");
  add("--tls_key", &tls->key, "FILE",
      "The certificate's key (PEM) [KAMINO_TLS_KEY].");
  add("--tls_ca", &tls->authorities, "FILE",
      "Trusted authorities (PEM) [KAMINO_TLS_CA].");
  add("--tls_crl_dir", &tls->revoked, "FOLDER",
      "Lists of revoked certificates (PEM) [KAMINO_TLS_CRL_DIR].");
  app->add_flag("--insecure", settings->insecure,
                "Calls other machines without certificates, too "
                "[KAMINO_INSECURE=1].")
      ->group(kGroup);
}

void AddKeyEncoding(CLI::App* app, Settings* settings) {
  static const std::map<std::string, KeyEncoding> kEncodings = {
      {"raw", KeyEncoding::kRaw},
      {"escaped", KeyEncoding::kEscaped},
      {"hex", KeyEncoding::kHex},
      {"base64", KeyEncoding::kBase64}};
  app->add_option_function<std::string>(
         "--key_encoding",
         [settings](const std::string& text) {
           settings->key_encoding = kEncodings.at(text);
         },
         "Encoding of keys in arguments and lines: raw, escaped (\\x00), hex "
         "or base64; by default arguments are raw, and lines escaped.")
      ->check(CLI::IsMember({"raw", "escaped", "hex", "base64"}))
      ->type_name("ENCODING")
      ->group(kGroup);
}

// `option`: as typed, "--output=json". The command line may repeat a form, also
// before and after the command's name, but not name two.
void SetOutput(const std::string& option, Output output, Settings* settings) {
  if (!settings->output_by.empty() && settings->output != output) {
    throw CLI::ValidationError(
        absl::StrCat(settings->output_by, " and ", option,
                     " contradict each other; give one of them"));
  }
  settings->output = output;
  settings->output_by = option;
}

void AddOutput(CLI::App* app, Settings* settings) {
  static const std::map<std::string, Output> kOutputs = {
      {"table", Output::kTable},
      {"json", Output::kJson},
      {"raw", Output::kRaw}};
  app->add_option_function<std::string>(
         "--output",
         [settings](const std::string& text) {
           SetOutput("--output=" + text, kOutputs.at(text), settings);
         },
         "table (for people), json (for programs), raw (bytes as they are).")
      ->check(CLI::IsMember({"table", "json", "raw"}))
      ->type_name("FORM")
      ->group(kGroup);
  app->add_flag_callback(
         "--json", [settings] { SetOutput("--json", Output::kJson, settings); },
         "The same as --output=json.")
      ->group(kGroup);
  app->add_flag_callback(
         "--raw", [settings] { SetOutput("--raw", Output::kRaw, settings); },
         "The same as --output=raw.")
      ->group(kGroup);
}

absl::StatusOr<bool> InsecureBy(const Environment& environment) {
  const std::string value = environment("KAMINO_INSECURE");
  if (value.empty() || value == "0") return false;
  if (value == "1") return true;
  return absl::InvalidArgumentError(
      absl::StrCat("KAMINO_INSECURE is \"", value,
                   "\"; it must be 1, to go without certificates, or 0"));
}

// Reads what the command line does not set.
void ReadTlsEnvironment(const Environment& environment, Settings* settings) {
  security::TlsFiles* const tls = &settings->tls;
  const std::map<std::string, std::string*> paths = {
      {"tls_ca", &tls->authorities},
      {"tls_cert", &tls->certificate},
      {"tls_crl_dir", &tls->revoked},
      {"tls_key", &tls->key}};
  for (const auto& [name, variable] : TlsVariables()) {
    const std::string path = environment(variable);
    if (path.empty() || IsSaid(name, settings->typed)) continue;
    *paths.at(name) = path;
    settings->places[name] = variable;
  }
}

// Prefixes an error that begins with "--option " with the source of the option.
absl::Status WithPlace(const absl::Status& error, const Settings& settings) {
  absl::string_view name = error.message();
  if (error.ok() || !absl::ConsumePrefix(&name, "--")) return error;
  name = name.substr(0, name.find_first_of(" ,"));
  const auto place = settings.places.find(std::string(name));
  if (place == settings.places.end()) return error;
  return absl::Status(error.code(),
                      absl::StrCat(place->second, ": ", error.message()));
}

// Whether the options about certificates fit each other.
absl::Status CheckTls(const Settings& settings) {
  absl::Status checked;
  if (settings.insecure && settings.tls.any()) {
    checked = absl::InvalidArgumentError(
        "--insecure excludes certificates, but the same place names some "
        "(--tls_cert, --tls_key, --tls_ca, --tls_crl_dir): leave out one of "
        "the two");
  } else {
    checked = CheckComplete(settings.tls, TlsNamedBy::kEnvironmentToo);
  }
  return WithPlace(checked, settings);
}

absl::Status CheckCluster(const std::string& path, const std::string& cluster,
                          const ServerSettings& servers) {
  ASSIGN_OR_RETURN(const ClientConfig config,
                   ReadClientConfig(path, cluster, servers, OptionsOfFiles()));
  Settings settings;
  RETURN_IF_ERROR(SetOptions(config, path, &settings));
  // Certificates may come from the environment.
  if (!settings.insecure || !settings.tls.any()) return absl::OkStatus();
  return CheckTls(settings);
}

}  // namespace

void AddSettings(CLI::App* app, Settings* settings) {
  AddAddresses(app, "--seeds", &settings->seeds,
               "Any nodes of the chain [KAMINO_SEEDS].");
  AddAddresses(app, "--managers", &settings->managers,
               "Managers of the cluster [KAMINO_MANAGERS].");
  app->add_option("--cluster", settings->cluster,
                  "A cluster of the configuration file [KAMINO_CLUSTER].")
      ->check(NotEmpty())
      ->type_name("NAME")
      ->group(kGroup);
  app->add_option("--config", settings->config,
                  "The configuration file [KAMINO_CONFIG], by default "
                  "~/.config/kamino/config.toml.")
      ->check(NotEmpty())
      ->type_name("FILE")
      ->group(kGroup);
  app->add_option_function<std::string>(
         "--timeout",
         [settings](const std::string& text) {
           if (!absl::ParseDuration(text, &settings->timeout)) {
             throw CLI::ValidationError(
                 "--timeout",
                 "\"" + text + "\" is no duration such as 500ms or 10s");
           }
           if (settings->timeout <= absl::ZeroDuration()) {
             throw CLI::ValidationError("--timeout",
                                        "it must be over 0, not " + text);
           }
         },
         "Time limit of each call, retries included, such as 500ms; 10s by "
         "default.")
      ->type_name("DURATION")
      ->group(kGroup);
  app->add_option("--carrier", settings->carrier,
                  "Carrier of the session: shm, verbs, tcp or grpc, by default "
                  "the best one available; unary: no session.")
      ->check(CLI::IsMember({"shm", "verbs", "tcp", "grpc", "unary"}))
      ->type_name("KIND")
      ->group(kGroup);
  AddTls(app, settings);
  AddKeyEncoding(app, settings);
  AddOutput(app, settings);
  for (CLI::Option* option : OptionsOf(*app)) {
    const std::string name = option->get_lnames().front();
    option->each(
        [settings, name](const std::string&) { settings->typed.insert(name); });
  }
}

bool AskForJson(const std::vector<std::string>& words) {
  const auto mark = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin(); word != mark; ++word) {
    if (*word == "--json" || *word == "--output=json") return true;
    if (*word == "--output" && word + 1 != mark && word[1] == "json") {
      return true;
    }
  }
  return false;
}

std::vector<std::string> OptionsOfFiles() {
  static const std::set<std::string> kTypedOnly = {
      "seeds", "managers", "cluster", "config", "output", "json", "raw"};
  Settings unused;
  CLI::App app;
  AddSettings(&app, &unused);
  std::vector<std::string> names;
  for (const CLI::Option* option : OptionsOf(app)) {
    const std::string name = option->get_lnames().front();
    if (kTypedOnly.count(name) == 0) names.push_back(name);
  }
  return names;
}

absl::Status CheckConfigFile(const std::string& path,
                             const ServerSettings& servers) {
  ASSIGN_OR_RETURN(const auto clusters, ClustersOf(path));
  for (const std::string& cluster : clusters) {
    RETURN_IF_ERROR(CheckCluster(path, cluster, servers));
  }
  return CheckCluster(path, /*cluster=*/"", servers);  // the current one
}

absl::Status Locate(Place wanted, const Environment& environment,
                    Settings* settings) {
  if (settings->located_by.empty()) ReadTlsEnvironment(environment, settings);
  RETURN_IF_ERROR(Find(environment, settings));
  ASSIGN_OR_RETURN(const bool insecure, InsecureBy(environment));
  settings->insecure |= !settings->tls.any() && insecure;
  RETURN_IF_ERROR(CheckTls(*settings));
  const bool chain = wanted == Place::kChain;
  if (!(chain ? settings->seeds : settings->managers).empty()) {
    return absl::OkStatus();
  }
  if (settings->located_by.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        chain ? "no seeds are known: set --seeds=host:port,... or KAMINO_SEEDS"
              : "no managers are known: set --managers=host:port,... or "
                "KAMINO_MANAGERS",
        ", or name a cluster of the configuration file by --cluster"));
  }
  const std::string missing = chain ? "seeds" : "managers";
  std::string set = absl::StrCat("set ", missing, " there");
  if (settings->located_by == kCommandLine) set = "give --" + missing;
  if (settings->located_by == kEnvironment) {
    set = absl::StrCat("set KAMINO_", chain ? "SEEDS" : "MANAGERS");
  }
  std::string known;  // a cluster of the file may name neither
  if (Knows(*settings)) known = chain ? "managers but " : "seeds but ";
  return absl::InvalidArgumentError(
      absl::StrCat(settings->located_by, " names ", known, "no ", missing, ": ",
                   set, " too; kamino takes both from one source"));
}

}  // namespace kamino::client
