import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';

import { graphqlLimits } from '#platform/api';

/**
 * Why a parsed document is too large to process, or null. Takes time linear in the document and the limits. It runs before GraphQL's
 * own rules: cost, validation, compilation and execution all expand fragments at each use, so 2,000 tokens of fragments that spread
 * each other twice would otherwise expand to 2^200 fields.
 */
export function sizeProblem(document: DocumentNode): GraphQLError | null {
  try {
    new DocumentMeasure(document).check();
    return null;
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
}

class DocumentMeasure {
  private readonly operations: OperationDefinitionNode[] = [];
  private readonly fragments = new Map<string, FragmentDefinitionNode>();
  /** The selections that one use of a fragment adds; `undefined` while the check is still counting them. */
  private readonly counts = new Map<string, number | undefined>();
  private schemaFields = 0;

  constructor(document: DocumentNode) {
    for (const definition of document.definitions) {
      if (definition.kind === Kind.OPERATION_DEFINITION) this.operations.push(definition);
      if (definition.kind === Kind.FRAGMENT_DEFINITION) this.fragments.set(definition.name.value, definition);
    }
  }

  /** Throws a GraphQLError that names the limit. */
  check(): void {
    let selections = 0;
    for (const operation of this.operations) {
      const count = this.count(operation.selectionSet);
      selections += count;
      if (operation.operation === OperationTypeNode.SUBSCRIPTION && count > graphqlLimits.subscriptionSelections)
        throw tooManySelections('A subscription', graphqlLimits.subscriptionSelections);
    }
    if (selections > graphqlLimits.selections) throw tooManySelections('A document', graphqlLimits.selections);
    // `count` does not visit an unused fragment, but validation would; so the check rejects it here.
    const unused = [...this.fragments.keys()].find((name) => !this.counts.has(name));
    if (unused !== undefined) throw new GraphQLError(`Fragment "${unused}" is never used.`);
    for (const { selectionSet } of this.operations) this.checkRepeats([selectionSet]);
  }

  private count({ selections }: SelectionSetNode): number {
    let total = 0;
    for (const selection of selections) total += 1 + this.countWithin(selection);
    // Without this bound, the count of nested fragments would exceed the range of exact integers.
    return Math.min(total, graphqlLimits.selections + 1);
  }

  private countWithin(selection: SelectionNode): number {
    if (selection.kind === Kind.FRAGMENT_SPREAD) return this.countFragment(selection.name.value);
    if (selection.kind === Kind.FIELD && selection.name.value === '__schema' && (this.schemaFields += 1) > 1)
      throw new GraphQLError('A document may select __schema only once');
    return selection.selectionSet === undefined ? 0 : this.count(selection.selectionSet);
  }

  private countFragment(name: string): number {
    const fragment = this.fragments.get(name);
    // Validation names the missing fragment.
    if (fragment === undefined) return 0;
    const known = this.counts.get(name);
    if (known !== undefined) return known;
    if (this.counts.has(name)) throw new GraphQLError(`Cannot spread fragment "${name}" within itself.`);
    this.counts.set(name, undefined);
    const count = this.count(fragment.selectionSet);
    this.counts.set(name, count);
    return count;
  }

  /** Walks the fields as execution merges them: all with the same path at once. */
  private checkRepeats(merged: readonly SelectionSetNode[]): void {
    const fields = new Map<string, FieldNode[]>();
    const spread = new Set<string>();
    for (const { selections } of merged) this.collect(selections, { fields, spread });
    for (const [path, same] of fields) {
      if (same.length > graphqlLimits.repeats)
        throw new GraphQLError(`Select "${path}" at most ${graphqlLimits.repeats} times at one place of the result`);
      this.checkRepeats(same.flatMap(({ selectionSet }) => (selectionSet === undefined ? [] : [selectionSet])));
    }
  }

  private collect(selections: readonly SelectionNode[], into: Collected): void {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        const key = selection.alias?.value ?? selection.name.value;
        const same = into.fields.get(key);
        if (same === undefined) into.fields.set(key, [selection]);
        else same.push(selection);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        this.collect(selection.selectionSet.selections, into);
      } else if (!into.spread.has(selection.name.value)) {
        into.spread.add(selection.name.value);
        this.collect(this.fragments.get(selection.name.value)?.selectionSet.selections ?? [], into);
      }
    }
  }
}

interface Collected {
  readonly fields: Map<string, FieldNode[]>;
  /** Fragments that were visited for this place of the result: each counts once, as in execution. */
  readonly spread: Set<string>;
}

function tooManySelections(subject: string, limit: number): GraphQLError {
  return new GraphQLError(
    `${subject} may select at most ${limit} fields and fragments, a fragment counted at each use`,
  );
}
