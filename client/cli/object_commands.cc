// get, put, patch, del, scan.
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "client/check.h"
#include "client/cli/cli.h"
#include "client/cli/files.h"
#include "client/cli/new_files.h"
#include "client/cli/text.h"

namespace kamino::client {
namespace {

constexpr char kKey[] =
    "The object's name, 1 to 1,024 bytes, written as --key_encoding says.";
// The largest file with a value: a byte in hexadecimal takes up to three.
constexpr size_t kMostFileBytes = 4 * kMaxValueBytes;

struct GetOptions {
  std::string key;
  uint64_t offset = 0;
  uint64_t length = 0;
  std::string file;
  bool hex = false;
  bool any_replica = false;
};

struct PutOptions {
  std::string key;
  std::string value;
  std::string file;
  bool hex = false;
};

struct PatchOptions {
  std::string key;
  uint64_t offset = 0;
  std::string data;
  bool hex = false;
};

struct ScanOptions {
  std::string start;
  std::string end;
  std::string prefix;
  uint64_t limit = 0;
  bool keys_only = false;
};

void PrintDone(const Cli& cli, const google::protobuf::Message& response,
               const kamino::v1::ResponseHeader& header) {
  if (cli.json()) return PrintJson(response);
  std::cout << absl::StrCat("ok, version ", header.sequence(), "\n");
}

// The smallest key above all keys with this prefix; "": none.
std::string EndOf(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

int RunGet(Cli& cli, const GetOptions& options, bool to_file) {
  if (options.hex && (cli.json() || cli.raw())) {
    return cli.FailUsage("get prints --hex or what --output says, one of them");
  }
  if (options.any_replica) cli.ReadAtAnyReplica();
  auto key = cli.KeyOf(options.key);
  if (!key.ok()) return cli.FailUsage(key.status().message());
  auto client = cli.Connect();
  if (!client.ok()) return cli.Fail(client.status());
  auto got = (*client)->Get(*key, options.offset, options.length);
  if (!got.ok()) return cli.Fail(got.status());
  if (to_file) {
    absl::Status written = WriteOver(options.file, got->value());
    return written.ok() ? kExitOk : cli.Fail(written);
  }
  if (options.hex) {
    std::cout << ToHex(got->value()) << "\n";
  } else if (cli.raw()) {
    std::cout << got->value();
  } else if (cli.json()) {
    PrintJson(*got);
  } else {
    std::cout << got->value() << "\n";
  }
  return kExitOk;
}

int RunPut(Cli& cli, const PutOptions& options, bool has_value) {
  if (has_value == !options.file.empty()) {
    return cli.FailUsage("put takes a value or --file, one of them");
  }
  absl::StatusOr<std::string> value =
      has_value ? options.value
                : ReadFile(options.file, kMostFileBytes,
                           "more than any value, which has at most 1 MiB");
  if (value.ok() && options.hex) value = FromHex(*value);
  if (!value.ok()) return cli.FailUsage(value.status().message());
  auto key = cli.KeyOf(options.key);
  if (!key.ok()) return cli.FailUsage(key.status().message());
  auto client = cli.Connect();
  if (!client.ok()) return cli.Fail(client.status());
  auto put = (*client)->Put(*key, *value);
  if (!put.ok()) return cli.Fail(put.status());
  PrintDone(cli, *put, put->header());
  return kExitOk;
}

int RunPatch(Cli& cli, const PatchOptions& options) {
  absl::StatusOr<std::string> data = options.data;
  if (options.hex) data = FromHex(options.data);
  if (!data.ok()) return cli.FailUsage(data.status().message());
  auto key = cli.KeyOf(options.key);
  if (!key.ok()) return cli.FailUsage(key.status().message());
  auto client = cli.Connect();
  if (!client.ok()) return cli.Fail(client.status());
  auto patched = (*client)->Patch(*key, options.offset, *data);
  if (!patched.ok()) return cli.Fail(patched.status());
  PrintDone(cli, *patched, patched->header());
  return kExitOk;
}

int RunDelete(Cli& cli, const std::string& word) {
  auto key = cli.KeyOf(word);
  if (!key.ok()) return cli.FailUsage(key.status().message());
  auto client = cli.Connect();
  if (!client.ok()) return cli.Fail(client.status());
  auto deleted = (*client)->Delete(*key);
  if (!deleted.ok()) return cli.Fail(deleted.status());
  PrintDone(cli, *deleted, deleted->header());
  return kExitOk;
}

void PrintObject(const Cli& cli, const kamino::v1::ReadResult& object,
                 bool keys_only) {
  if (cli.json()) return PrintJson(object);
  const KeyEncoding keys = cli.settings().key_encoding;
  const bool raw_key = cli.raw() && keys == KeyEncoding::kByPlace;
  std::cout << (raw_key ? object.key() : EncodeKey(keys, object.key()));
  if (!keys_only) {
    std::cout << "\t" << (cli.raw() ? object.value() : Escape(object.value()));
  }
  std::cout << "\n";
}

int RunScan(Cli& cli, const ScanOptions& options) {
  const auto start = cli.KeyOf(options.start);
  if (!start.ok()) return cli.FailUsage(start.status().message());
  const auto end = cli.KeyOf(options.end);
  if (!end.ok()) return cli.FailUsage(end.status().message());
  const auto prefix = cli.KeyOf(options.prefix);
  if (!prefix.ok()) return cli.FailUsage(prefix.status().message());
  kamino::v1::ScanRequest request;
  request.set_start_key(*start);
  request.set_end_key(*end);
  if (!prefix->empty()) {
    request.set_start_key(*prefix);
    request.set_end_key(EndOf(*prefix));
  }
  request.set_limit(options.limit);
  request.set_keys_only(options.keys_only);
  auto client = cli.Connect();
  if (!client.ok()) return cli.Fail(client.status());
  absl::Status scanned = (*client)->Scan(
      request, [&](const kamino::v1::ReadResult& object, const auto&) {
        PrintObject(cli, object, options.keys_only);
        return std::cout.good();
      });
  return scanned.ok() ? kExitOk : cli.Fail(scanned);
}

void AddGet(CLI::App* app, Cli* cli) {
  auto options = std::make_shared<GetOptions>();
  CLI::App* get = AddCommand(
      app, cli, "get", "Reads an object, or bytes of it.",
      "  kamino get greeting\n"
      "  kamino get picture -o picture.png      # the bytes, into a file\n"
      "  kamino get picture --offset=16 --length=8 --hex");
  get->add_option("KEY", options->key, kKey)->required()->type_name("");
  get->add_option("--offset", options->offset, "First byte to read.")
      ->type_name("N")
      ->transform(Decimal());
  get->add_option("--length", options->length, "Bytes to read; 0: to the end.")
      ->type_name("N")
      ->transform(Decimal());
  auto* file = get->add_option("-o,--out", options->file,
                               "Write the value's bytes to this file.");
  file->type_name("FILE");
  get->add_flag("--hex", options->hex, "Print hexadecimal digits.")
      ->excludes(file);
  get->add_flag("--any_replica", options->any_replica,
                "Asks any node except the head; asks the tail if that node "
                "cannot answer.");
  get->callback([=] {
    cli->run = [=] { return RunGet(*cli, *options, file->count() > 0); };
  });
}

void AddPut(CLI::App* app, Cli* cli) {
  auto options = std::make_shared<PutOptions>();
  CLI::App* put = AddCommand(app, cli, "put", "Writes a whole object.",
                             "  kamino put greeting hello\n"
                             "  kamino put balance -5\n"
                             "  kamino put picture --file=picture.png\n"
                             "  date | kamino put now --file=-\n"
                             "  kamino put header --hex '00 ff 17'");
  put->add_option("KEY", options->key, kKey)->required()->type_name("");
  CLI::Option* value =
      put->add_option("VALUE", options->value,
                      "The object's value, up to 1 MiB; or use --file.");
  value->type_name("");
  put->add_option("--file", options->file,
                  "Take the value from this file; - is standard input.")
      ->type_name("FILE");
  put->add_flag("--hex", options->hex, "The value is hexadecimal digits.");
  put->callback([=] {
    cli->run = [=] { return RunPut(*cli, *options, value->count() > 0); };
  });
}

void AddPatch(CLI::App* app, Cli* cli) {
  auto options = std::make_shared<PatchOptions>();
  CLI::App* patch =
      AddCommand(app, cli, "patch", "Overwrites bytes of an object, in place.",
                 "  kamino patch greeting 0 J\n"
                 "  kamino patch header 4 --hex 00ff");
  patch->add_option("KEY", options->key, kKey)->required()->type_name("");
  patch
      ->add_option("OFFSET", options->offset,
                   "First byte to overwrite, from 0.")
      ->required()
      ->type_name("")
      ->transform(Decimal());
  patch
      ->add_option("DATA", options->data,
                   "The new bytes; the object keeps its length.")
      ->required()
      ->type_name("");
  patch->add_flag("--hex", options->hex, "The data is hexadecimal digits.");
  patch->callback([=] { cli->run = [=] { return RunPatch(*cli, *options); }; });
}

void AddDelete(CLI::App* app, Cli* cli) {
  auto key = std::make_shared<std::string>();
  CLI::App* del = AddCommand(app, cli, "del", "Removes an object.",
                             "  kamino del greeting\n"
                             "  kamino del --key_encoding=escaped 'a\\x00b'");
  del->add_option("KEY", *key, kKey)->required()->type_name("");
  del->callback([=] { cli->run = [=] { return RunDelete(*cli, *key); }; });
}

void AddScan(CLI::App* app, Cli* cli) {
  auto options = std::make_shared<ScanOptions>();
  CLI::App* scan = AddCommand(
      app, cli, "scan", "Lists objects in key order, one a line.",
      "  kamino scan\n"
      "  kamino scan a b                        # keys from a to before b\n"
      "  kamino scan --prefix=user/ --keys_only --limit=10\n"
      "  kamino scan > all.tsv; kamino load tsv all.tsv\n"
      "  kamino scan --key_encoding=escaped --prefix='a\\x00'\n"
      "Bytes that a line cannot hold are printed as \\t, \\n, \\r, \\\\ or "
      "\\xHH,\nexcept with --output=raw. load tsv reads this form.");
  auto* start =
      scan->add_option("START", options->start, "The first key to list.");
  start->type_name("");
  scan->add_option("END", options->end, "The first key not to list.")
      ->type_name("");
  scan->add_option("--prefix", options->prefix,
                   "Only keys that begin with this.")
      ->type_name("TEXT")
      ->excludes(start);
  scan->add_option("--limit", options->limit,
                   "Maximum number of objects; 0: all.")
      ->type_name("N")
      ->transform(Decimal());
  scan->add_flag("--keys_only", options->keys_only, "Leave the values out.");
  scan->callback([=] { cli->run = [=] { return RunScan(*cli, *options); }; });
}

}  // namespace

void AddObjectCommands(CLI::App* app, Cli* cli) {
  AddGet(app, cli);
  AddPut(app, cli);
  AddPatch(app, cli);
  AddDelete(app, cli);
  AddScan(app, cli);
}

}  // namespace kamino::client
