#include "rpc/grpc_log.h"

#include <string>

#include "glog/logging.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"

namespace kamino::rpc {
namespace {

void LogOfGrpc(gpr_log_func_args* said) {
  const google::LogSeverity severity = said->severity == GPR_LOG_SEVERITY_ERROR
                                           ? google::GLOG_ERROR
                                           : google::GLOG_INFO;
  google::LogMessage(said->file, said->line, severity).stream()
      << "gRPC: " << said->message;
}

// protobuf ends the process itself after a line of level FATAL.
void LogOfProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                   const std::string& message) {
  google::LogSeverity severity = google::GLOG_ERROR;
  if (level == google::protobuf::LOGLEVEL_INFO) severity = google::GLOG_INFO;
  if (level == google::protobuf::LOGLEVEL_WARNING) {
    severity = google::GLOG_WARNING;
  }
  google::LogMessage(file, line, severity).stream() << "protobuf: " << message;
}

}  // namespace

void LogWhatLibrariesSay() {
  gpr_set_log_function(LogOfGrpc);
  google::protobuf::SetLogHandler(LogOfProtobuf);
}

}  // namespace kamino::rpc
