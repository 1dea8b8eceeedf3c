/** The source files as syntax trees, and the questions that the rules ask about them. No file system in here. */
import ts from "typescript";

export interface Import {
  readonly specifier: string;
  /** The file it leads to, for relative ones. */
  readonly target: string | undefined;
  readonly line: number;
}

export type Declared = ts.ClassDeclaration | ts.FunctionDeclaration | ts.InterfaceDeclaration | ts.Declaration;

/** A public name and where it is declared. */
export interface Export {
  readonly name: string;
  readonly file: string;
  readonly node: Declared;
}

export class Tree {
  readonly #sources = new Map<string, ts.SourceFile>();

  /** @param texts By path from the root of the repository, with slashes. */
  constructor(texts: Iterable<readonly [path: string, text: string]>) {
    for (const [path, text] of texts) {
      this.#sources.set(path, ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
    }
  }

  get paths(): string[] {
    return [...this.#sources.keys()];
  }

  source(path: string): ts.SourceFile {
    const source = this.#sources.get(path);
    if (source === undefined) throw new Error(`Cannot read ${path}: there is no such file`);
    return source;
  }

  /** Every node of a file. */
  *nodes(path: string): Iterable<ts.Node> {
    const open: ts.Node[] = [this.source(path)];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      yield node;
      node.forEachChild((child) => void open.push(child));
    }
  }

  /** "file:line", for messages. */
  at(path: string, node: ts.Node): string {
    return `${path}:${this.#line(path, node)}`;
  }

  #line(path: string, node: ts.Node): number {
    const source = this.source(path);
    return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
  }

  /** Static imports and re-exports, also those of types. */
  imports(path: string): Import[] {
    return this.source(path).statements.flatMap((statement) => {
      if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
      if (statement.moduleSpecifier === undefined) return [];
      const specifier = (statement.moduleSpecifier as ts.StringLiteral).text;
      return [{ specifier, target: resolve(path, specifier), line: this.#line(path, statement) }];
    });
  }

  /** All files that a file leads to, however far. */
  reachable(from: string): Set<string> {
    const seen = new Set<string>();
    const open = [from];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      for (const { target } of this.imports(path)) {
        if (target === undefined || seen.has(target) || !this.#sources.has(target)) continue;
        seen.add(target);
        open.push(target);
      }
    }
    return seen;
  }

  /** The names that a module exports, with the declarations behind re-exports. */
  exports(path: string): Export[] {
    return this.source(path).statements.flatMap((statement) => {
      if (ts.isExportDeclaration(statement)) return this.#reExports(path, statement);
      const isExported = ts.canHaveModifiers(statement) &&
        ts.getModifiers(statement)?.some((one) => one.kind === ts.SyntaxKind.ExportKeyword);
      if (!isExported) return [];
      return declarations(statement).map((node) => ({ name: nameOf(node), file: path, node }));
    });
  }

  #reExports(path: string, statement: ts.ExportDeclaration): Export[] {
    if (statement.exportClause === undefined || !ts.isNamedExports(statement.exportClause)) {
      throw new Error(`Cannot read ${this.at(path, statement)}: an export without names`);
    }
    const target = statement.moduleSpecifier && resolve(path, (statement.moduleSpecifier as ts.StringLiteral).text);
    return statement.exportClause.elements.map(({ name, propertyName }) => {
      const found = this.find(target ?? path, (propertyName ?? name).text);
      if (found === undefined) throw new Error(`Cannot find ${name.text} of ${path}: not declared in ${target}`);
      return { ...found, name: name.text };
    });
  }

  /** The declaration that a name means in a file: its own, imported or re-exported. */
  find(path: string, name: string): Export | undefined {
    for (const statement of this.source(path).statements) {
      for (const node of declarations(statement)) if (nameOf(node) === name) return { name, file: path, node };
    }
    for (const statement of this.source(path).statements) {
      const names = ts.isImportDeclaration(statement)
        ? statement.importClause?.namedBindings
        : ts.isExportDeclaration(statement)
        ? statement.exportClause
        : undefined;
      if (names === undefined || !(ts.isNamedImports(names) || ts.isNamedExports(names))) continue;
      const specifier = (statement as ts.ImportDeclaration).moduleSpecifier as ts.StringLiteral | undefined;
      const target = specifier && resolve(path, specifier.text);
      const found = names.elements.find((one) => one.name.text === name);
      if (found && target && this.#sources.has(target)) {
        return this.find(target, (found.propertyName ?? found.name).text);
      }
    }
    return undefined;
  }

  /** The public members of a class or interface, inherited ones included. */
  members({ file, node }: Export): Set<string> {
    const names = new Set<string>();
    if (!ts.isClassDeclaration(node) && !ts.isInterfaceDeclaration(node)) return names;
    for (const member of node.members) {
      const name = member.name?.getText();
      if (name !== undefined && !name.startsWith("#")) names.add(name.replace(/^\[(.*)\]$/, "$1"));
    }
    for (const { token, types } of node.heritageClauses ?? []) {
      if (token !== ts.SyntaxKind.ExtendsKeyword) continue;
      for (const type of types) {
        const base = this.find(file, type.expression.getText());
        if (base) { for (const name of this.members(base)) names.add(name); }
      }
    }
    return names;
  }
}

function declarations(statement: ts.Statement): ts.Declaration[] {
  if (ts.isVariableStatement(statement)) return [...statement.declarationList.declarations];
  const declares = ts.isClassDeclaration(statement) || ts.isFunctionDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
  return declares ? [statement] : [];
}

function nameOf(node: ts.Declaration): string {
  return (node as ts.NamedDeclaration).name?.getText() ?? "";
}

function resolve(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
