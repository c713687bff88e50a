// kamino debug: collects what an engineer needs to find a fault.
#include <cstddef>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "client/cli/archive.h"
#include "client/cli/cli.h"
#include "client/cli/json.h"
#include "client/cli/text.h"
#include "client/debug.h"
#include "client/error.h"
#include "client/identification.h"
#include "config/toml_text.h"
#include "deploy/config/server_examples.h"
#include "google/protobuf/struct.pb.h"

namespace kamino::client {
namespace {

constexpr char kArchiveFolder[] = "kamino-debug/";
// A limit, because a manager may name any number of nodes, at some seconds
// each.
constexpr size_t kMostNodes = 64;
constexpr absl::Duration kProcessPatience =
    absl::Seconds(3);  // with one process

constexpr char kReadMe[] =
    R"(The state of the nodes and managers of a Kamino cluster when this archive
was made: no keys, no values, no secrets.

missing.txt              the parts that could not be read, and why
cluster.json             the cluster as the manager that leads sees it
managers.json            the state of each manager
chain.json               the view, as a node told it
nodes/ID/status.json     as kamino status --json shows it; a second node that
                         is known by that ID has the folder nodes/ID-2
.../settings.toml        the settings in force; defaults are commented out
.../log.txt              the last lines of its log
.../metrics.txt          its metrics, as Prometheus reads them
managers/ADDRESS/...     the same for managers
)";

// Fills an archive, and lists what is missing from it.
class Dump {
 public:
  // A `client` or `admin` that is not OK says why there is none.
  Dump(Cli* cli, Archive* archive, absl::StatusOr<Client*> client,
       absl::StatusOr<Admin*> admin)
      : cli_(cli),
        archive_(archive),
        client_(std::move(client)),
        admin_(std::move(admin)) {}

  // Not OK: the archive cannot be written, or seeds and managers belong to
  // different clusters.
  absl::Status Make() {
    RETURN_IF_ERROR(Add("README.txt", kReadMe));
    RETURN_IF_ERROR(AddCluster());
    RETURN_IF_ERROR(AddChain());
    size_t asked = 0;
    for (const auto& [address, node_id] : nodes_) {
      if (asked++ == kMostNodes) {
        Miss(absl::StrCat(nodes_.size() - kMostNodes, " nodes from ", address,
                          " on"),
             absl::ResourceExhaustedError(
                 absl::StrCat("at most ", kMostNodes, " are asked")));
        break;
      }
      RETURN_IF_ERROR(AddNode(address, node_id));
    }
    for (const std::string& manager : cli_->settings().managers) {
      RETURN_IF_ERROR(
          AddProcess(manager, security::Role::kManager,
                     UniqueName("managers/" + NameOf(manager), &folders_)));
    }
    std::string missing = absl::StrJoin(missing_, "\n");
    if (!missing.empty()) missing += "\n";
    RETURN_IF_ERROR(Add("missing.txt", missing));
    return archive_->Finish();
  }
  const std::vector<std::string>& missing() const { return missing_; }
  // The first error by which a process refused a call; OK: none refused.
  const absl::Status& refused() const { return refused_; }

 private:
  // Ids come from other processes: replaces characters that could make a path.
  static std::string NameOf(const std::string& text) {
    std::string name;
    for (const char c : text) {
      const bool plain = absl::ascii_isalnum(c) || c == '-' || c == '_' ||
                         (c == '.' && !name.empty());
      name.push_back(plain ? c : '_');
    }
    return name.empty() ? "_" : name;
  }

  absl::Status Add(const std::string& name, absl::string_view bytes) {
    return archive_->Add(kArchiveFolder + name, bytes);
  }
  absl::Status AddJson(const std::string& name,
                       const google::protobuf::Message& message) {
    return Add(name, ToJson(message) + "\n");
  }
  void Miss(absl::string_view what, const absl::Status& why) {
    missing_.push_back(absl::StrCat(what, ": ", Printable(why.message())));
    if (refused_.ok() && absl::IsPermissionDenied(why)) refused_ = why;
  }

  absl::Status AddCluster() {
    if (!admin_.ok()) {
      Miss("managers", admin_.status());
      return absl::OkStatus();
    }
    auto cluster = (*admin_)->GetCluster();
    if (AreOfDifferentClusters(cluster.status())) return cluster.status();
    if (!cluster.ok()) {
      Miss("cluster.json", cluster.status());
    } else {
      for (const auto& node : cluster->nodes()) {
        nodes_.emplace(node.member().address(), node.member().node_id());
      }
      RETURN_IF_ERROR(AddJson("cluster.json", *cluster));
    }
    std::string managers;
    for (const auto& manager : (*admin_)->GetManagers()) {
      absl::StrAppend(&managers, ToJson(manager), "\n");
    }
    return Add("managers.json", managers);
  }

  absl::Status AddChain() {
    if (!client_.ok()) {
      Miss("chain.json", client_.status());
      return absl::OkStatus();
    }
    const kamino::v1::Chain chain = (*client_)->chain();
    for (const auto& member : chain.nodes()) {
      nodes_.emplace(member.address(), member.node_id());
    }
    return AddJson("chain.json", chain);
  }

  absl::Status AddNode(const std::string& address, const std::string& node_id) {
    const std::string folder =
        UniqueName("nodes/" + NameOf(node_id), &folders_);
    auto channel = ChannelTo(address, security::Role::kNode);
    if (!channel.ok()) {
      Miss(folder, channel.status());
      return absl::OkStatus();
    }
    auto status = GetNodeStatus(address, *channel, kProcessPatience);
    if (status.ok()) {
      RETURN_IF_ERROR(AddJson(folder + "/status.json", *status));
    } else if (absl::IsUnavailable(status.status())) {
      Miss(absl::StrCat(folder, " of ", address), status.status());
      return absl::OkStatus();  // its log and its metrics are missing, too
    } else {
      Miss(absl::StrCat(folder, "/status.json of ", address), status.status());
    }
    return AddProcess(address, security::Role::kNode, folder);
  }

  // Uses the certificate of the settings. Refuses a process of another cluster
  // than the one that answered first.
  absl::StatusOr<rpc::ChannelOptions> ChannelTo(const std::string& address,
                                                security::Role role) const {
    const Settings& settings = cli_->settings();
    rpc::ChannelOptions channel;
    ASSIGN_OR_RETURN(channel.credentials,
                     Identify(settings.tls, settings.insecure, {address}));
    channel.server = role;
    if (client_.ok()) {
      channel.cluster = (*client_)->cluster();
    } else if (admin_.ok()) {
      channel.cluster = (*admin_)->cluster();
    }
    return channel;
  }

  // The settings of a program that are numbers or booleans, according to the
  // example file that it prints.
  static std::set<std::string> NumbersOf(absl::string_view program) {
    std::set<std::string> numbers;
    const absl::string_view example =
        program == "kamino_manager" ? kManagerExample : kNodeExample;
    for (absl::string_view line : absl::StrSplit(example, '\n')) {
      absl::ConsumePrefix(&line, "#");
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(line, absl::MaxSplits(" = ", 1));
      // "# help" explains a setting; "#name = value" is one.
      if (absl::StartsWith(line, " ") || parts.second.empty()) continue;
      if (parts.second[0] != '"') numbers.emplace(parts.first);
    }
    return numbers;
  }

  // The value as TOML. Checks the text even for a number, because a process of
  // another release may send anything.
  static std::string ValueOf(const std::set<std::string>& numbers,
                             const kamino::v1::DebugSetting& setting) {
    double ignored = 0;
    const bool bare = setting.value() == "true" || setting.value() == "false" ||
                      absl::SimpleAtod(setting.value(), &ignored);
    return bare && numbers.count(setting.name()) > 0
               ? std::string(absl::StripAsciiWhitespace(setting.value()))
               : config::TomlText(setting.value());
  }

  static std::string SettingsOf(const kamino::v1::GetDebugResponse& debug) {
    std::string settings =
        absl::StrCat("# ", absl::Utf8SafeCEscape(debug.program()), " ",
                     absl::Utf8SafeCEscape(debug.version()), "\n");
    const std::set<std::string> numbers = NumbersOf(debug.program());
    for (const auto& setting : debug.settings()) {
      absl::StrAppend(&settings, setting.is_default() ? "#" : "",
                      config::TomlKey(setting.name()), " = ",
                      ValueOf(numbers, setting), "\n");
    }
    return settings;
  }

  absl::Status AddProcess(const std::string& address, security::Role role,
                          const std::string& folder) {
    auto channel = ChannelTo(address, role);
    if (!channel.ok()) {
      Miss(folder, channel.status());
      return absl::OkStatus();
    }
    const auto debug = GetDebug(address, *channel, kProcessPatience);
    if (!debug.ok()) {
      Miss(absl::StrCat(folder, " of ", address), debug.status());
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(Add(folder + "/settings.toml", SettingsOf(*debug)));
    std::string log;
    for (const std::string& line : debug->log_lines()) {
      absl::StrAppend(&log, line, "\n");
    }
    RETURN_IF_ERROR(Add(folder + "/log.txt", log));
    if (debug->metrics().empty()) return absl::OkStatus();
    return Add(folder + "/metrics.txt", debug->metrics());
  }

  Cli* const cli_;
  Archive* const archive_;
  const absl::StatusOr<Client*> client_;
  const absl::StatusOr<Admin*> admin_;
  std::set<std::string> folders_;  // that the archive has
  // Addresses and ids. Nodes that are gone may have had one address.
  std::set<std::pair<std::string, std::string>> nodes_;
  std::vector<std::string> missing_;
  absl::Status refused_;
};

absl::StatusOr<std::unique_ptr<Archive>> MakeArchive(const std::string& path) {
  auto archive = Archive::Create(path);
  if (!absl::IsAlreadyExists(archive.status())) return archive;
  return WithMore(archive.status(),
                  "; name another file (kamino debug dump FILE), or remove "
                  "this one");
}

// Prints the path of the archive, and what is missing from it.
void Tell(bool json, const std::string& path,
          const std::vector<std::string>& missing) {
  const bool is_output = path == "-";
  if (json && !is_output) {
    google::protobuf::Struct whole;
    auto& fields = *whole.mutable_fields();
    fields["file"].set_string_value(path);
    auto& list = *fields["missing"].mutable_list_value();
    for (const std::string& each : missing) {
      list.add_values()->set_string_value(ToUtf8(each));
    }
    PrintJson(whole);
    return;
  }
  if (!is_output) std::cout << "wrote " << path << "\n";
  for (const std::string& each : missing) {
    std::cerr << "kamino: missing from it: " << each << "\n";
  }
}

int RunDump(Cli* cli, const std::string& path) {
  // The chain first: the managers must belong to its cluster.
  const absl::StatusOr<Client*> client = cli->Connect();
  const absl::StatusOr<Admin*> admin = cli->ConnectToManagers();
  // Without seeds and managers there is no process to ask.
  if (AreOfDifferentClusters(client.status()) ||
      (absl::IsInvalidArgument(client.status()) &&
       absl::IsInvalidArgument(admin.status()))) {
    return cli->Fail(client.status());
  }
  auto archive = MakeArchive(path);
  if (!archive.ok()) return cli->Fail(archive.status());
  Dump dump(cli, archive->get(), client, admin);
  if (absl::Status made = dump.Make(); !made.ok()) return cli->Fail(made);
  Tell(cli->json(), path, dump.missing());
  // The exit code of a refusal goes first: another certificate may help, a
  // retry does not.
  if (!dump.refused().ok()) return cli->Fail(dump.refused());
  return dump.missing().empty() ? kExitOk : kExitNoAnswer;
}

}  // namespace

void AddDebugCommand(CLI::App* app, Cli* cli) {
  CLI::App* debug = app->add_subcommand(
      "debug", "Collects what an engineer needs to find a fault.");
  AddSettings(debug, &cli->settings());
  debug->require_subcommand(1);
  auto path = std::make_shared<std::string>("kamino-debug.tar.gz");
  CLI::App* dump = AddCommand(
      debug, cli, "dump",
      "Writes an archive with the states, views, settings, metrics and last "
      "log lines of all nodes and managers; no keys, no values, no secrets. "
      "Exits with 1 if one of them refuses or the archive cannot be written, "
      "else with 3 if one cannot be reached; missing.txt in the archive says "
      "which.",
      "  kamino debug dump\n  kamino debug dump /tmp/at-noon.tar.gz\n"
      "  kamino debug dump - | ssh elsewhere 'cat > dump.tar.gz'");
  dump->add_option("FILE", *path,
                   "The archive, by default kamino-debug.tar.gz; -: standard "
                   "output.")
      ->type_name("");
  dump->callback([=] { cli->run = [=] { return RunDump(cli, *path); }; });
}

}  // namespace kamino::client
