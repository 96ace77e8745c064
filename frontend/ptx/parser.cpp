// Parses PTX text to the syntax tree of syntax.h (PTX ISA, "Syntax", "Directives").
#include <algorithm>
#include <optional>
#include <set>

#include "frontend/ptx/lexer.h"
#include "frontend/ptx/names.h"
#include "frontend/ptx/reader.h"
#include "frontend/ptx/syntax.h"

namespace cudasim::ptx {
namespace {

std::optional<Space> space_named(const std::string& name) {
    if (name == "global") return Space::global;
    if (name == "shared") return Space::shared;
    if (name == "const") return Space::constant;
    if (name == "local") return Space::local;
    if (name == "param") return Space::parameter;
    if (name == "reg") return Space::registers;
    return {};
}

std::optional<Linkage> linkage_named(const std::string& name) {
    if (name == "extern") return Linkage::external;
    if (name == "visible") return Linkage::visible;
    if (name == "weak" || name == "common") return Linkage::weak;
    return {};
}

class Parser {
  public:
    explicit Parser(const std::string& text) : tokens_(tokens(text)) {}

    Module run() {
        while (peek().kind != Token::end) read_module_item();
        return std::move(module_);
    }

  private:
    // -- tokens ------------------------------------------------------------------------------------------

    [[nodiscard]] const Token& peek(std::size_t ahead = 0) const {
        return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
    }
    const Token& next() {
        const Token& token = peek();
        if (position_ + 1 < tokens_.size()) ++position_;
        return token;
    }
    [[nodiscard]] bool sees(char mark) const {
        return peek().kind == Token::punctuation && peek().text[0] == mark;
    }
    bool accept(char mark) {
        const bool found = sees(mark);
        if (found) next();
        return found;
    }
    void expect(char mark) {
        if (!accept(mark)) refuse(std::string("expected '") + mark + "', found " + shown(peek()));
    }
    bool accept_directive(const std::string& name) {
        const bool found = peek().kind == Token::directive && peek().text == name;
        if (found) next();
        return found;
    }
    std::string expect_kind(Token::Kind kind, const char* what) {
        if (peek().kind != kind) refuse(std::string("expected ") + what + ", found " + shown(peek()));
        return next().text;
    }
    std::uint64_t expect_integer() {
        if (peek().kind != Token::integer) refuse("expected a number, found " + shown(peek()));
        return next().value;
    }
    static std::string shown(const Token& token) {
        if (token.kind == Token::end) return "the end of the text";
        if (token.kind == Token::integer || token.kind == Token::real) return "a number";
        return "'" + (token.kind == Token::directive ? "." + token.text : token.text) + "'";
    }
    [[noreturn]] void refuse(const std::string& reason) const { throw PtxError(reason, peek().line); }

    void skip_line() {
        const int line = tokens_[position_ - 1].line;
        while (peek().kind != Token::end && peek().line == line) next();
    }
    void skip_braces() {
        expect('{');
        for (int depth = 1; depth > 0;) {
            if (peek().kind == Token::end) refuse("a brace is not closed");
            if (sees('{')) ++depth;
            if (sees('}')) --depth;
            next();
        }
    }
    void skip_statement() {
        while (peek().kind != Token::end && !accept(';')) next();
    }

    // -- the module --------------------------------------------------------------------------------------

    void read_module_item() {
        place_ = {};
        const std::string name = expect_kind(Token::directive, "a directive");
        if (name == "version" || name == "loc") return skip_line();
        if (name == "target") return skip_line();
        if (name == "address_size") {
            if (expect_integer() != 64) refuse("only PTX with 64-bit addresses is supported");
            return;
        }
        if (name == "file") return read_file();
        if (name == "pragma") return skip_statement();
        if (name == "section") {
            while (peek().kind != Token::end && !sees('{')) next();
            return skip_braces();
        }
        --position_;
        Linkage linkage = Linkage::internal;
        while (peek().kind == Token::directive && linkage_named(peek().text))
            linkage = *linkage_named(next().text);
        if (accept_directive("func")) return read_function(linkage, false);
        if (accept_directive("entry")) return read_function(linkage, true);
        if (peek().kind != Token::directive || !space_named(peek().text))
            refuse("the directive " + shown(peek()) + " is not supported");
        read_module_variable(linkage);
    }

    void read_file() {
        const std::uint64_t number = expect_integer();
        if (number > 65535) refuse("a .file has a number of 0 to 65535");
        if (module_.files.size() <= number) module_.files.resize(number + 1);
        module_.files[number] = expect_kind(Token::string, "a file's name");
        while (accept(',')) expect_integer();
    }

    void read_module_variable(Linkage linkage) {
        Variable first = read_declaration();
        do {
            Variable variable = first;
            variable.linkage = linkage;
            read_declarator(variable);
            if (accept('=')) read_initialiser(variable.initialiser);
            module_.variables.push_back(std::move(variable));
        } while (accept(','));
        expect(';');
    }

    // -- declarations ------------------------------------------------------------------------------------

    /// Space, alignment, vector and type; the name is still to come.
    Variable read_declaration() {
        Variable variable;
        variable.place = here();
        variable.space = *space_named(next().text);
        bool typed = false;
        while (peek().kind == Token::directive) {
            const std::string name = next().text;
            if (name == "align") {
                variable.alignment = static_cast<unsigned>(expect_integer());
                if (variable.alignment == 0 || (variable.alignment & (variable.alignment - 1)) != 0 ||
                    variable.alignment > 1024)
                    refuse("an alignment is a power of two up to 1024");
            } else if (name == "v2" || name == "v4") {
                variable.count = name == "v2" ? 2 : 4;
                variable.is_array = true;
            } else if (auto type = type_named(name)) {
                variable.type = *type;
                typed = true;
            } else if (name == "attribute") {
                read_attributes(variable);
            } else if (!(name == "ptr" || space_named(name))) {
                refuse("a variable of kind ." + name + " is not supported");
            }
        }
        if (!typed) refuse("a declaration has no type");
        return variable;
    }

    /// `.attribute(.managed, .unified(…))`
    void read_attributes(Variable& variable) {
        expect('(');
        for (int depth = 1; depth > 0;) {
            if (peek().kind == Token::end) refuse("an attribute without an end");
            if (accept('(')) {
                ++depth;
            } else if (accept(')')) {
                --depth;
            } else {
                const Token token = next();
                if (token.kind == Token::directive && token.text == "managed") variable.managed = true;
            }
        }
    }

    void read_declarator(Variable& variable) {
        variable.name = expect_kind(Token::identifier, "a name");
        while (accept('[')) {
            const std::uint64_t extent = sees(']') ? 0 : expect_integer();
            expect(']');
            variable.count *= extent;
            variable.is_array = true;
            if (variable.count > (std::uint64_t{1} << 40)) refuse("'" + variable.name + "' is too large");
        }
    }

    void read_initialiser(std::vector<Operand>& values) {
        if (!accept('{')) {
            values.push_back(read_initial_value());
            return;
        }
        while (!accept('}')) {
            read_initialiser(values);
            if (!sees('}')) expect(',');
        }
    }

    Operand read_initial_value() {
        if (peek().kind == Token::identifier && peek().text == "generic") {
            next();
            expect('(');
            Operand value = read_operand();
            expect(')');
            value.elements.push_back({});  // marks an address in generic space
            if (accept('+')) value.offset += static_cast<std::int64_t>(expect_integer());
            return value;
        }
        return read_operand();
    }

    std::vector<Variable> read_parameters() {
        std::vector<Variable> result;
        expect('(');
        while (!accept(')')) {
            if (peek().kind != Token::directive || !space_named(peek().text))
                refuse("expected a parameter, found " + shown(peek()));
            Variable parameter = read_declaration();
            parameter.space = Space::parameter;
            if (peek().kind == Token::identifier) read_declarator(parameter);
            result.push_back(std::move(parameter));
            if (!sees(')')) expect(',');
        }
        return result;
    }

    // -- functions ---------------------------------------------------------------------------------------

    void read_function(Linkage linkage, bool is_entry) {
        Function function;
        function.linkage = linkage;
        function.is_entry = is_entry;
        function.place = here();
        if (!is_entry && sees('(')) function.results = read_parameters();
        function.name = expect_kind(Token::identifier, "a function's name");
        if (sees('(')) function.parameters = read_parameters();
        skip_function_directives();
        if (sees('{')) {
            function.has_body = true;
            read_body(function);
        } else {
            expect(';');
        }
        keep(std::move(function));
    }

    /// Directives of a function, such as .noreturn and .maxntid 1, 1, 1.
    void skip_function_directives() {
        while (peek().kind == Token::directive) {
            next();
            while (peek().kind == Token::integer || sees(',')) next();
        }
    }

    /// A definition takes the place of its declaration.
    void keep(Function function) {
        for (Function& known : module_.functions) {
            if (known.name != function.name) continue;
            if (known.has_body && function.has_body)
                refuse("the function '" + function.name + "' is defined twice");
            if (function.has_body) known = std::move(function);
            return;
        }
        module_.functions.push_back(std::move(function));
    }

    void read_body(Function& function) {
        Names names(function);
        function_ = &function;
        names_ = &names;
        place_ = {};
        for (const Variable& parameter : function.results) names.declare(parameter, 0);
        for (const Variable& parameter : function.parameters) names.declare(parameter, 0);
        expect('{');
        names.open();
        while (names.depth() > 1) {
            if (peek().kind == Token::end) refuse("the function '" + function.name + "' is not closed");
            if (accept('{'))
                names.open();
            else if (accept('}'))
                names.close();
            else
                read_statement();
        }
        names.close();
        names_ = nullptr;
    }

    void read_statement() {
        if (accept(';')) return;
        if (peek().kind == Token::directive) return read_body_directive();
        if (peek().kind == Token::identifier && peek(1).kind == Token::punctuation && peek(1).text == ":") {
            const std::string name = next().text;
            next();
            names_->declare_label(name);
            if (accept_directive("callprototype")) return read_prototype(name);
            if (accept_directive("branchtargets") || accept_directive("calltargets"))
                return read_targets(name);
            function_->body.emplace_back(Label{name});
            return;
        }
        read_instruction();
    }

    void read_prototype(const std::string& name) {
        Prototype prototype{name, {}, {}};
        if (sees('(')) prototype.results = read_parameters();
        expect_kind(Token::identifier, "'_'");
        if (sees('(')) prototype.parameters = read_parameters();
        skip_function_directives();
        expect(';');
        function_->body.emplace_back(std::move(prototype));
    }

    void read_targets(const std::string& name) {
        Targets targets{name, {}};
        do targets.names.push_back(read_operand());
        while (accept(','));
        expect(';');
        function_->body.emplace_back(std::move(targets));
    }

    void read_body_directive() {
        if (accept_directive("loc")) return read_place();
        if (accept_directive("pragma")) return skip_statement();
        if (!space_named(peek().text)) refuse("the directive " + shown(peek()) + " is not supported");
        const Variable first = read_declaration();
        do {
            Variable variable = first;
            read_declarator(variable);
            std::uint64_t family = 0;
            if (accept('<')) {
                family = expect_integer();
                expect('>');
            }
            if (accept('=')) read_initialiser(variable.initialiser);
            names_->declare(std::move(variable), family);
        } while (accept(','));
        expect(';');
    }

    void read_place() {
        place_.file = static_cast<unsigned>(expect_integer());
        place_.file_line = static_cast<unsigned>(expect_integer());
        place_.file_column = static_cast<unsigned>(expect_integer());
        skip_line();
    }

    Place here() const {
        Place place = place_;
        place.line = peek().line;
        return place;
    }

    void read_instruction() {
        Instruction instruction;
        instruction.place = here();
        if (accept('@')) {
            instruction.guard_negated = accept('!');
            instruction.guard = names_->resolve(expect_kind(Token::identifier, "a predicate"));
        }
        instruction.opcode.push_back(expect_kind(Token::identifier, "an instruction"));
        while (peek().kind == Token::directive) instruction.opcode.push_back(next().text);
        while (!accept(';')) {
            if (peek().kind == Token::end) refuse("an instruction is not closed by ';'");
            instruction.operands.push_back(read_operand());
            if (!sees(';')) expect(',');
        }
        function_->body.emplace_back(std::move(instruction));
    }

    // -- operands ----------------------------------------------------------------------------------------

    Operand read_operand() {
        Operand first = read_single_operand();
        if (!accept('|')) return first;
        Operand both;
        both.kind = Operand::list;
        both.elements = {std::move(first), read_single_operand()};
        return both;
    }

    Operand read_single_operand() {
        if (sees('{')) return read_group('{', '}', Operand::vector);
        if (sees('(')) return read_group('(', ')', Operand::list);
        if (accept('[')) return read_address();
        Operand operand;
        if (accept('!')) operand.negated = true;
        const bool minus = accept('-');
        const Token& token = next();
        if (token.kind == Token::integer) {
            operand.kind = Operand::integer;
            operand.value = minus ? 0 - token.value : token.value;
        } else if (token.kind == Token::real) {
            operand.kind = Operand::real;
            operand.value = minus ? token.value ^ std::uint64_t{1} << (token.width - 1) : token.value;
            operand.width = token.width;
        } else if (token.kind == Token::identifier && !minus) {
            read_name(operand, token.text);
        } else {
            --position_;
            refuse("expected an operand, found " + shown(token));
        }
        return operand;
    }

    void read_name(Operand& operand, const std::string& name) {
        if (name == "_") {
            operand.kind = Operand::discarded;
            return;
        }
        operand.text = names_ ? names_->resolve(name) : name;
        while (peek().kind == Token::directive && peek().touches) operand.text += "." + next().text;
        if (peek(1).kind != Token::integer) return;
        if (sees('+') || sees('-')) {
            const bool minus = next().text == "-";
            const auto distance = static_cast<std::int64_t>(expect_integer());
            operand.offset = minus ? -distance : distance;
        }
    }

    Operand read_group(char open, char close, Operand::Kind kind) {
        Operand group;
        group.kind = kind;
        expect(open);
        while (!accept(close)) {
            group.elements.push_back(read_operand());
            if (!sees(close)) expect(',');
        }
        return group;
    }

    /// [base], [base + offset], [12]; the bracket is read.
    Operand read_address() {
        Operand address;
        address.kind = Operand::address;
        Operand base = read_single_operand();
        address.offset = base.offset;
        base.offset = 0;
        if (accept('+')) {
            const bool minus = accept('-');
            const auto distance = static_cast<std::int64_t>(expect_integer());
            address.offset += minus ? -distance : distance;
        }
        expect(']');
        address.elements.push_back(std::move(base));
        return address;
    }

    std::vector<Token> tokens_;
    std::size_t position_ = 0;
    Module module_;
    Function* function_ = nullptr;
    Names* names_ = nullptr;
    Place place_;
};

}  // namespace

std::optional<Type> type_named(const std::string& name) {
    if (name == "pred") return Type{Type::predicate, 1};
    if (name == "f16x2") return Type{Type::half_pair, 32};
    if (name == "u16x2") return Type{Type::unsigned_pair, 32};
    if (name == "s16x2") return Type{Type::signed_pair, 32};
    if (name == "bf16") return Type{Type::brain, 16};
    if (name == "bf16x2") return Type{Type::brain_pair, 32};
    if (name == "e4m3x2") return Type{Type::e4m3_pair, 16};
    if (name == "e5m2x2") return Type{Type::e5m2_pair, 16};
    if (name == "tf32") return Type{Type::tensor_real, 32};
    if (name == "b128") return Type{Type::bits, 128};
    static const std::set<std::string> known = {"b8", "b16", "b32", "b64", "u8",  "u16", "u32", "u64",
                                                "s8", "s16", "s32", "s64", "f16", "f32", "f64"};
    if (!known.contains(name)) return {};
    return Type{static_cast<Type::Kind>(name[0]), static_cast<unsigned>(std::stoul(name.substr(1)))};
}

Module parse(const std::string& text) {
    return Parser(text).run();
}

}  // namespace cudasim::ptx
