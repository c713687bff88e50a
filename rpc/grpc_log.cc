#include "rpc/grpc_log.h"

#include "glog/logging.h"
#include "grpc/support/log.h"

namespace kamino::rpc {
namespace {

void Log(gpr_log_func_args* said) {
  const google::LogSeverity severity = said->severity == GPR_LOG_SEVERITY_ERROR
                                           ? google::GLOG_ERROR
                                           : google::GLOG_INFO;
  google::LogMessage(said->file, said->line, severity).stream()
      << "gRPC: " << said->message;
}

}  // namespace

void LogWhatGrpcSays() { gpr_set_log_function(Log); }

}  // namespace kamino::rpc
