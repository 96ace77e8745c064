// LLVM's own diagnostic handler prints and ends the process; this one keeps the first error for a typed one.
#pragma once

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

namespace cudasim::image {

/// Keeps the first error and never lets LLVM print or exit.
struct RecordingHandler : llvm::DiagnosticHandler {
    explicit RecordingHandler(std::string& first_error) : first_error(first_error) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
        if (info.getSeverity() == llvm::DS_Error && first_error.empty()) {
            llvm::raw_string_ostream stream(first_error);
            llvm::DiagnosticPrinterRawOStream printer(stream);
            info.print(printer);
        }
        return true;
    }
    std::string& first_error;
};

}  // namespace cudasim::image
