// Prints the value of the key "greeting".
#include <iostream>

#include "client/client.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: greeting HOST:PORT...\n";
    return 2;
  }
  kamino::client::ClientOptions options;
  options.seeds.assign(argv + 1, argv + argc);
  auto client = kamino::client::Client::Connect(options);
  if (!client.ok()) {
    std::cerr << "greeting: " << client.status().message() << "\n";
    return 1;
  }
  auto got = (*client)->Get("greeting");
  if (!got.ok()) {
    std::cerr << "greeting: " << got.status().message() << "\n";
    return 1;
  }
  std::cout << got->value() << "\n";
  return 0;
}
