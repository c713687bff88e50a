// kamino cert: an authority in a folder, for tests and small clusters.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Validators.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/cli/authority_folder.h"
#include "client/cli/cli.h"
#include "client/cli/table.h"
#include "google/protobuf/struct.pb.h"

namespace kamino::client {
namespace {

using security::CertificateFacts;

constexpr char kAuthorityFolder[] = "kamino-ca";
constexpr int kDays = 365;
constexpr int kAuthorityDays = 3650;
constexpr int kMostDays = 36500;

struct CertOptions {
  std::string folder = kAuthorityFolder;
  std::string cluster_id;
  bool of_etcd = false;
  int days = kDays;
  std::vector<std::string> what;
  AuthorityFolder::Wanted wanted;
};

void AddFolder(CLI::App* command, std::string* folder) {
  command
      ->add_option("--dir", *folder,
                   absl::StrCat("The authority's folder, by default ",
                                kAuthorityFolder, " in this one."))
      ->type_name("FOLDER");
}

void AddDays(CLI::App* command, int* days) {
  command
      ->add_option("--days", *days,
                   absl::StrCat("Its validity, by default ", *days, " days."))
      ->check(CLI::Range(1, kMostDays))
      ->type_name("N");
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

std::string FingerprintText(const CertificateFacts& facts) {
  std::string text;
  for (const char byte : facts.fingerprint) {
    absl::StrAppend(&text, text.empty() ? "" : ":",
                    absl::AsciiStrToUpper(
                        absl::BytesToHexString(absl::string_view(&byte, 1))));
  }
  return text;
}

std::string PurposeText(const CertificateFacts& facts) {
  std::vector<std::string> purposes;
  if (facts.is_authority) purposes.push_back("an authority");
  if (facts.serves) purposes.push_back("server");
  if (facts.calls) purposes.push_back("client");
  return absl::StrJoin(purposes, ", ");
}

google::protobuf::Struct ToStruct(const CertificateFacts& facts) {
  google::protobuf::Struct whole;
  auto& fields = *whole.mutable_fields();
  const auto set = [&fields](const char* name, const std::string& value) {
    fields[name].set_string_value(value);
  };
  set("holder", HolderText(facts));
  set("issuer", facts.issuer);
  set("serial", facts.serial);
  set("sha256", FingerprintText(facts));
  set("not_before", TimeText(facts.not_before));
  set("not_after", TimeText(facts.not_after));
  auto& hosts = *fields["hosts"].mutable_list_value();
  for (const std::string& host : facts.hosts) {
    hosts.add_values()->set_string_value(host);
  }
  fields["authority"].set_bool_value(facts.is_authority);
  fields["serves"].set_bool_value(facts.serves);
  fields["calls"].set_bool_value(facts.calls);
  return whole;
}

// Prints the issued pair.
int Tell(const Cli& cli, const CertificatePair& pair) {
  const auto facts = ReadFacts(pair.certificate);
  if (!facts.ok()) return cli.Fail(facts.status());
  if (cli.json()) {
    google::protobuf::Struct whole = ToStruct(*facts);
    (*whole.mutable_fields())["certificate_file"].set_string_value(
        pair.certificate);
    (*whole.mutable_fields())["key_file"].set_string_value(pair.key);
    PrintJson(whole);
  } else {
    std::cout << pair.certificate << ", " << pair.key << ": "
              << HolderText(*facts) << ", until " << TimeText(facts->not_after)
              << "\n";
  }
  return kExitOk;
}

void AddAuthority(CLI::App* cert, Cli* cli) {
  auto words = std::make_shared<CertOptions>();
  words->days = kAuthorityDays;
  CLI::App* command = AddCommand(
      cert, cli, "ca",
      "Makes an authority: for one cluster, or for its etcd. Its key can sign "
      "a certificate for any identity: keep the folder, and protect it.",
      "  kamino cert ca --cluster_id=shop\n"
      "  kamino cert ca --etcd --dir=etcd-ca");
  AddFolder(command, &words->folder);
  AddDays(command, &words->days);
  auto* cluster = command
                      ->add_option("--cluster_id", words->cluster_id,
                                   "The servers' --cluster_id.")
                      ->type_name("NAME");
  command
      ->add_flag("--etcd", words->of_etcd,
                 "For etcd and its clients, which are separate from the "
                 "clients of the cluster.")
      ->excludes(cluster);
  command->callback([=] {
    cli->run = [=] {
      if (words->of_etcd == !words->cluster_id.empty()) {
        return cli->FailUsage("either --cluster_id=NAME or --etcd is needed");
      }
      const auto made = AuthorityFolder::Make(words->folder, words->cluster_id,
                                              absl::Hours(24) * words->days);
      if (!made.ok()) return cli->Fail(made.status());
      return Tell(*cli, {made->certificate_path(), words->folder + "/ca.key"});
    };
  });
}

void AddIssue(CLI::App* cert, Cli* cli) {
  auto words = std::make_shared<CertOptions>();
  CLI::App* command = AddCommand(
      cert, cli, "issue",
      "Issues a certificate, with a new key: KIND-NAME.pem and KIND-NAME.key. "
      "A node's NAME is its --node_id.",
      "  kamino cert issue node n1 --host=10.0.0.1 --out=/etc/kamino/tls\n"
      "  kamino cert issue operator ann\n"
      "  kamino cert issue etcd e1 --host=10.0.0.1 --dir=etcd-ca\n"
      "  kamino cert issue etcd-client m1 --dir=etcd-ca");
  command
      ->add_option("KIND", words->wanted.kind,
                   "The role, or etcd (its members), or etcd-client (its "
                   "clients: managers, etcdctl).")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"node", "manager", "operator", "writer", "reader",
                             "etcd", "etcd-client"}));
  command->add_option("NAME", words->wanted.name, "The holder's name.")
      ->required()
      ->type_name("");
  command
      ->add_option("--host", words->wanted.hosts,
                   "A name or an address of the holder's machine, which etcd, "
                   "browsers and Prometheus check; may be repeated.")
      ->type_name("HOST")
      ->delimiter(',')
      ->take_all()
      ->expected(1);
  AddDays(command, &words->days);
  AddFolder(command, &words->folder);
  command
      ->add_option("--out", words->wanted.out,
                   "The folder for the pair, which gets ca.pem, too; by "
                   "default the authority's.")
      ->type_name("FOLDER");
  command->add_flag("--force", words->wanted.replace,
                    "Replaces a pair that is there.");
  command->callback([=] {
    cli->run = [=] {
      const auto folder = AuthorityFolder::Open(words->folder);
      if (!folder.ok()) return cli->Fail(folder.status());
      AuthorityFolder::Wanted wanted = words->wanted;
      wanted.validity = absl::Hours(24) * words->days;
      const auto pair = folder->Issue(wanted);
      return pair.ok() ? Tell(*cli, *pair) : cli->Fail(pair.status());
    };
  });
}

void AddRenew(CLI::App* cert, Cli* cli) {
  auto words = std::make_shared<CertOptions>();
  CLI::App* command = AddCommand(
      cert, cli, "renew",
      "Replaces pairs, where they are used, with new ones for the same holders "
      "and hosts. Programs that run take them within seconds.",
      "  kamino cert renew /etc/kamino/tls/node-n1.pem");
  command->add_option("FILE", words->what, "A certificate, NAME.pem.")
      ->required()
      ->type_name("");
  AddDays(command, &words->days);
  AddFolder(command, &words->folder);
  command->callback([=] {
    cli->run = [=] {
      const auto folder = AuthorityFolder::Open(words->folder);
      if (!folder.ok()) return cli->Fail(folder.status());
      for (const std::string& file : words->what) {
        const auto pair = folder->Renew(file, absl::Hours(24) * words->days);
        if (!pair.ok()) return cli->Fail(pair.status());
        if (const int code = Tell(*cli, *pair); code != kExitOk) return code;
      }
      return kExitOk;
    };
  });
}

void TellRevoked(const Cli& cli, const security::CertificateFacts& facts,
                 const std::string& list) {
  if (cli.json()) {
    google::protobuf::Struct whole = ToStruct(facts);
    (*whole.mutable_fields())["list_file"].set_string_value(list);
    PrintJson(whole);
  } else {
    std::cout << HolderText(facts) << " (certificate " << facts.serial
              << ") is revoked by " << list << "\n";
  }
}

void AddRevoke(CLI::App* cert, Cli* cli) {
  auto words = std::make_shared<CertOptions>();
  CLI::App* command =
      AddCommand(cert, cli, "revoke",
                 "Adds certificates to the authority's list of revoked ones, "
                 "crl/ca.crl, which each process needs in its --tls_crl_dir. A "
                 "file revokes all certificates of its holder, including those "
                 "before renewals; a serial number revokes one.",
                 "  kamino cert revoke kamino-ca/writer-app.pem\n"
                 "  kamino cert revoke 5AD1FD3C0A42B0E1");
  command
      ->add_option("WHAT", words->what,
                   "A certificate's file, or its serial number.")
      ->required()
      ->type_name("");
  AddFolder(command, &words->folder);
  command->callback([=] {
    cli->run = [=] {
      const auto folder = AuthorityFolder::Open(words->folder);
      if (!folder.ok()) return cli->Fail(folder.status());
      for (const std::string& what : words->what) {
        const auto revoked = folder->RevokeHolder(what);
        if (!revoked.ok()) return cli->Fail(revoked.status());
        for (const auto& facts : *revoked) {
          TellRevoked(*cli, facts, folder->list_path());
        }
      }
      return kExitOk;
    };
  });
}

void AddList(CLI::App* cert, Cli* cli) {
  auto words = std::make_shared<CertOptions>();
  CLI::App* command =
      AddCommand(cert, cli, "list",
                 "Lists the certificates of an authority and when they expire.",
                 "  kamino cert list --dir=etcd-ca");
  AddFolder(command, &words->folder);
  command->callback([=] {
    cli->run = [=] {
      const auto folder = AuthorityFolder::Open(words->folder);
      if (!folder.ok()) return cli->Fail(folder.status());
      const auto issued = folder->List();
      if (!issued.ok()) return cli->Fail(issued.status());
      std::vector<std::vector<std::string>> rows = {
          {"HOLDER", "UNTIL", "SERIAL", "STATE"}};
      for (const AuthorityFolder::Issued& one : *issued) {
        const std::string state =
            one.good.ok() ? "good" : std::string(one.good.message());
        if (cli->json()) {
          google::protobuf::Struct whole = ToStruct(one.facts);
          (*whole.mutable_fields())["state"].set_string_value(state);
          PrintJson(whole);
        }
        rows.push_back({HolderText(one.facts), TimeText(one.facts.not_after),
                        one.facts.serial, state});
      }
      if (!cli->json()) std::cout << FormatTable(rows);
      return kExitOk;
    };
  });
}

void AddShow(CLI::App* cert, Cli* cli) {
  auto file = std::make_shared<std::string>();
  CLI::App* command =
      AddCommand(cert, cli, "show", "Shows a certificate.",
                 "  kamino cert show /etc/kamino/tls/node-n1.pem");
  command->add_option("FILE", *file, "The certificate (PEM).")
      ->required()
      ->type_name("");
  command->callback([=] {
    cli->run = [=] {
      const auto facts = ReadFacts(*file);
      if (!facts.ok()) return cli->Fail(facts.status());
      if (cli->json()) {
        PrintJson(ToStruct(*facts));
        return kExitOk;
      }
      std::cout << FormatTable({{"holder", HolderText(*facts)},
                                {"hosts", absl::StrJoin(facts->hosts, ", ")},
                                {"from", TimeText(facts->not_before)},
                                {"until", TimeText(facts->not_after)},
                                {"for", PurposeText(*facts)},
                                {"serial", facts->serial},
                                {"sha256", FingerprintText(*facts)},
                                {"issuer", facts->issuer}});
      return kExitOk;
    };
  });
}

}  // namespace

void AddCertCommand(CLI::App* app, Cli* cli) {
  CLI::App* cert = app->add_subcommand(
      "cert",
      "Issues certificates for tests and small clusters, with an authority "
      "in a folder.");
  cert->footer(
      "Examples:\n  kamino cert ca --cluster_id=shop\n"
      "  kamino cert issue node n1 --host=10.0.0.1\n"
      "  kamino cert list");
  AddSettings(cert, &cli->settings());
  cert->require_subcommand(1);
  AddAuthority(cert, cli);
  AddIssue(cert, cli);
  AddRenew(cert, cli);
  AddRevoke(cert, cli);
  AddList(cert, cli);
  AddShow(cert, cli);
}

}  // namespace kamino::client
