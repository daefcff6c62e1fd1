import { type ASTNode, Environment } from '@marcbachmann/cel-js';

import { patternSize } from './linear-pattern.js';

/** The part of the type registry of cel-js that its type declarations omit. */
interface TypeRegistry {
  getType: (name: string) => object;
  getListType: (element: object) => object;
  getMapType: (key: object, value: object) => object;
}

/**
 * Types the elements of a nested list or map as `dyn`. Until the process ends, cel-js keeps each type that it encounters, and each pair of
 * types that an operator gets. Without `dyn`, each expression or document with new nested types would use more memory.
 */
function boundTypes(): void {
  let found: TypeRegistry | undefined;
  const find = function (this: { readonly registry: TypeRegistry }) {
    found = Object.getPrototypeOf(this.registry) as TypeRegistry; // cel-js calls functions with its evaluator as `this`
    return true;
  };
  new Environment().registerFunction('find(): bool', find).evaluate('find()');
  if (found === undefined) throw new Error('cel-js has no registry of types');
  const { getListType, getMapType } = found;
  const flat = (registry: TypeRegistry, type: object) =>
    'kind' in type && (type.kind === 'list' || type.kind === 'map') ? registry.getType('dyn') : type;
  found.getListType = function (element) {
    return getListType.call(this, flat(this, element));
  };
  found.getMapType = function (key, value) {
    return getMapType.call(this, flat(this, key), flat(this, value));
  };
}

boundTypes();

/**
 * Finds a text in other texts, in time linear in both lengths (Knuth, Morris, Pratt, 1977). `String.prototype.indexOf` takes time
 * proportional to their product: a minute for 1 MB in 2 MB, and the search cannot be interrupted.
 */
export class TextSearch {
  /** For each position of `search`: the length of the longest proper prefix that ends there. */
  private readonly borders: Int32Array;

  constructor(private readonly search: string) {
    const borders = new Int32Array(search.length);
    for (let at = 1, length = 0; at < search.length; at++) {
      while (length > 0 && search[at] !== search[length]) length = borders[length - 1] ?? 0;
      if (search[at] === search[length]) length += 1;
      borders[at] = length;
    }
    this.borders = borders;
  }

  /** The first position at or after `from`; -1: not found. */
  first(text: string, from = 0): number {
    const [found = -1] = this.places(text, from);
    return found;
  }

  /** The last position at or before `until`; -1: not found. */
  last(text: string, until = text.length): number {
    let found = -1;
    for (const place of this.places(text.slice(0, until + this.search.length), 0)) found = place;
    return found;
  }

  private *places(text: string, from: number): Generator<number, void> {
    const { search, borders } = this;
    for (let at = from, length = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      while (length > 0 && (length === search.length || unit !== search.charCodeAt(length)))
        length = borders[length - 1] ?? 0;
      if (unit === search.charCodeAt(length)) length += 1;
      if (length === search.length) yield at + 1 - length;
    }
  }
}

/** Maximum size of a text or list that an operation makes: four times the longest result. */
const MAX_MADE_TEXT = 16_777_216;
const MAX_MADE_LIST = 1_000_000;
/** Up to this product of the lengths, the search of V8 takes at most 30 ms. */
const MAX_NATIVE_SEARCH = 100_000_000;

/** The function that the evaluator of cel-js calls for a node of a type-checked expression. Its first arguments are the operands. */
type Handle = (...given: readonly unknown[]) => unknown;

/**
 * Bounds the operations of a checked expression whose time or memory is not linear: searches, and `+` and `split`, which can make a large
 * value from small ones. Each operation then takes some 50 ms for values of 4 MB. The time limit of the expression applies only between
 * operations, because V8 cannot interrupt a search.
 */
export function boundOperations(nodes: readonly ASTNode[]): void {
  for (const node of nodes) {
    const operation = node as unknown as { handle?: Handle }; // cel-js sets `handle` when it checks the node; its type declarations omit it
    const { handle } = operation;
    if (handle === undefined) continue;
    if (node.op === '+') operation.handle = boundedSum(handle);
    else if (node.op === 'rcall') operation.handle = boundedCall(node.args[0], handle);
  }
}

function boundedSum(handle: Handle): Handle {
  return (...given) => {
    const [left, right] = given;
    const isText = typeof left === 'string' && typeof right === 'string';
    if (isText && left.length + right.length > MAX_MADE_TEXT)
      throw tooLarge('+', `a text of ${MAX_MADE_TEXT} characters`);
    if (Array.isArray(left) && Array.isArray(right) && left.length + right.length > MAX_MADE_LIST)
      throw tooLarge('+', `a list of ${MAX_MADE_LIST}`);
    return handle(...given);
  };
}

function boundedCall(name: string, handle: Handle): Handle {
  const search = searches.get(name);
  if (search === undefined) return handle;
  return (...given) => {
    const [text, wanted, place] = given[0] as readonly unknown[]; // the receiver of the call, then its arguments
    if (typeof text !== 'string' || typeof wanted !== 'string') return handle(...given);
    const isSplit = name === 'split';
    if (isSplit && wanted === '' && text.length > MAX_MADE_LIST) throw tooManyParts();
    const isLong = text.length * wanted.length > MAX_NATIVE_SEARCH || (isSplit && text.length > MAX_MADE_LIST);
    const at = place === undefined ? undefined : Number(place);
    const isWithin = at === undefined || isSplit || (at >= 0 && at < text.length);
    return isLong && isWithin ? search(text, wanted, at) : handle(...given);
  };
}

/**
 * Calls `spend` with the number of members of lists and maps that a comparison may visit, before the comparison begins: the limit of steps
 * cannot interrupt it.
 */
export function countComparisons(nodes: readonly ASTNode[], spend: (members: number) => void): void {
  for (const node of nodes) {
    const operation = node as unknown as { handle?: Handle };
    const { handle } = operation;
    if (handle === undefined || !isComparison(node)) continue;
    operation.handle = (...given) => {
      const [left, right] = given;
      const isCompared = isContainer(left) && isContainer(right) && (node.op !== 'in' || Array.isArray(right));
      if (isCompared) spendMembers(right, spend);
      return handle(...given);
    };
  }
}

/**
 * Calls `spend` with the work of an operation on texts before it begins: the characters of its operands, for a pattern multiplied by the size
 * of the pattern.
 */
export function countTextWork(nodes: readonly ASTNode[], spend: (work: number) => void): void {
  for (const node of nodes) {
    const operation = node as unknown as { handle?: Handle };
    const { handle } = operation;
    if (handle === undefined || !(node.op === '+' || node.op === 'call' || node.op === 'rcall')) continue;
    const factor = node.op === 'rcall' && node.args[0] === 'matchesRe2' ? patternSizeOf(node.args[2][0]) : 1;
    operation.handle = (...given) => {
      const operands = Array.isArray(given[0]) && node.op !== '+' ? given[0] : given; // a call gets its operands as a list
      let characters = 0;
      for (const operand of operands) if (typeof operand === 'string') characters += operand.length;
      spend(characters * factor);
      return handle(...given);
    };
  }
}

function patternSizeOf(pattern: ASTNode | undefined): number {
  return pattern?.op === 'value' && typeof pattern.args === 'string' ? patternSize(pattern.args) : 1;
}

/** Whether the time of an operation depends on the members of its operands. A comparison with a literal text or number visits none. */
export function isComparison(node: ASTNode): boolean {
  if (node.op === 'in') return true;
  return (node.op === '==' || node.op === '!=') && node.args.every((operand) => operand.op !== 'value');
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function spendMembers(value: object, spend: (members: number) => void): void {
  const open: object[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const members = membersOf(next);
    spend(members.length);
    for (const member of members) if (isContainer(member)) open.push(member);
  }
}

function membersOf(value: object): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value instanceof Map ? [...value.values()] : Object.values(value);
}

type Search = (text: string, wanted: string, place: number | undefined) => unknown;

const searches: ReadonlyMap<string, Search> = new Map<string, Search>([
  ['contains', (text, wanted) => new TextSearch(wanted).first(text) !== -1],
  ['indexOf', (text, wanted, from) => BigInt(new TextSearch(wanted).first(text, from))],
  ['lastIndexOf', (text, wanted, until) => BigInt(new TextSearch(wanted).last(text, until))],
  ['split', split],
]);

/** Returns at most `max` parts, the last one with the rest of the text; a negative `max` means all parts. */
function split(text: string, wanted: string, max = -1): string[] {
  if (max === 0) return [];
  const search = new TextSearch(wanted);
  const parts: string[] = [];
  let from = 0;
  while (parts.length !== max - 1) {
    const at = search.first(text, from);
    if (at === -1) break;
    parts.push(text.slice(from, at));
    if (parts.length >= MAX_MADE_LIST) throw tooManyParts();
    from = at + wanted.length;
  }
  parts.push(text.slice(from));
  return parts;
}

function tooManyParts(): Error {
  return tooLarge('split()', `a list of ${MAX_MADE_LIST}`);
}

function tooLarge(operation: string, max: string): Error {
  return new Error(`${operation} makes more than ${max}`);
}
