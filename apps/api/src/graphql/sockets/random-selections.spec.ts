import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  execute,
  getNamedType,
  type GraphQLNamedType,
  type GraphQLSchema,
  isAbstractType,
  isInterfaceType,
  isLeafType,
  isObjectType,
} from 'graphql';

import type { GraphqlContext } from '#auth/api';

import { eventModels } from '../../../../../test/harness/event-models.js';
import { buildTestSchema, type TestSchema } from '../../../../../test/harness/graphql-schema.js';
import { argsOf } from '../documents/prepare-operation.js';
import { encoderOf } from './event-encoder.js';

let test: TestSchema;

beforeAll(async () => {
  test = await buildTestSchema();
});

const flags = ['a', 'b', 'c'] as const;
type Viewer = Readonly<Record<(typeof flags)[number], boolean>>;

/** The same directive in spellings that a search of the text would miss. */
const spellings = ['@', '@ ', '@,', '@# a comment\n'];
const fragmentNames = ['F0', 'F1', 'F2', '__proto__'];

/** Writes a document at random; whatever it selects exists in the schema. */
class DocumentWriter {
  private readonly on = new Map<string, string>();

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly pick: <T>(values: readonly T[]) => T,
  ) {}

  write(): string {
    const selection = this.selection(this.type('JobEvent'), 3, fragmentNames);
    const fragments = new Map<string, string>();
    // A fragment spreads only those after it in the list; each one that is used is written once.
    for (const [i, name] of fragmentNames.entries()) {
      const type = this.on.get(name);
      if (type !== undefined) fragments.set(name, this.selection(this.type(type), 2, fragmentNames.slice(i + 1)));
    }
    const bodies = [...fragments].map(([name, body]) => `fragment ${name} on ${this.on.get(name) ?? ''} ${body}`);
    const root = `jobEvents(jobId: $jobId) ${selection}`;
    const used = flags.filter((flag) => [root, ...bodies].some((text) => text.includes(`$${flag})`)));
    const declared = used.map((flag) => (flag === 'c' ? '$c: Boolean! = true' : `$${flag}: Boolean!`));
    return `subscription($jobId: ID! ${declared.join(' ')}) { ${root} } ${bodies.join(' ')}`;
  }

  private type(name: string): GraphQLNamedType {
    const type = this.schema.getType(name);
    if (type === undefined) throw new Error(`no type ${name}`);
    return type;
  }

  private selection(type: GraphQLNamedType, depth: number, fragments: readonly string[]): string {
    const count = this.pick([1, 2, 3, 4, 6]);
    const parts = Array.from({ length: count }, () => this.part(type, depth, fragments));
    return `{ ${parts.join(' ')} }`;
  }

  private part(type: GraphQLNamedType, depth: number, fragments: readonly string[]): string {
    const kind = depth === 0 ? 'field' : this.pick(['field', 'field', 'inline', 'inline', 'spread'] as const);
    if (kind === 'inline') {
      const inner = this.narrower(type);
      const condition = inner === type && this.pick([true, false]) ? '' : `on ${inner.name}`;
      return `... ${condition} ${this.directives()} ${this.selection(inner, depth - 1, fragments)}`;
    }
    if (kind === 'spread' && fragments.length > 0) {
      const name = this.pick(fragments);
      if (!this.on.has(name)) this.on.set(name, this.narrower(type).name);
      return `...${name} ${this.directives()}`;
    }
    return this.field(type, depth, fragments);
  }

  private field(type: GraphQLNamedType, depth: number, fragments: readonly string[]): string {
    const own = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
    const fields = own.filter((field) => isLeafType(getNamedType(field.type)) || depth > 0);
    const field = fields.length === 0 ? undefined : this.pick([undefined, ...fields, ...fields]);
    const name = field?.name ?? '__typename';
    const alias = this.pick(['', '', '', `${type.name}_${name}: `]);
    const inner = field === undefined ? undefined : getNamedType(field.type);
    const below = inner === undefined || isLeafType(inner) ? '' : this.selection(inner, depth - 1, fragments);
    return `${alias}${name} ${this.directives()} ${below}`;
  }

  /** The type itself, one of its possible types, or the interface of events. */
  private narrower(type: GraphQLNamedType): GraphQLNamedType {
    if (isAbstractType(type))
      return this.pick([type, this.type('JobEventEntry'), ...this.schema.getPossibleTypes(type)]);
    return type;
  }

  private directives(): string {
    const one = (name: string) =>
      `${this.pick(spellings)}${name}(if: ${this.pick(['$a', '$b', '$c', 'true', 'false'])})`;
    return this.pick(['', '', '', one('skip'), one('include'), `${one('skip')} ${one('include')}`]);
  }
}

const viewer: fc.Arbitrary<Viewer> = fc.record({ a: fc.boolean(), b: fc.boolean(), c: fc.boolean() });

/** Not every random document is valid: names can stand for different fields, and directives are limited. */
function isValid(query: string): boolean {
  return 'document' in test.cache.get(query);
}

describe('the encoder of a subscription', () => {
  it('writes the same events as GraphQL execution for random documents and variables', async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(fc.gen(), fc.array(viewer, { minLength: 2, maxLength: 5 }), async (gen, viewers) => {
        const writer = new DocumentWriter(
          test.schema,
          (values) => values[gen(fc.nat, values.length - 1)] as (typeof values)[number],
        );
        const query = writer.write();
        fc.pre(isValid(query));
        const operations = viewers.map((variables) => test.prepare(query, { jobId: 'j', ...variables }));
        // Neighbours in the list are of different types; all of them in every run would take ten times as long.
        const first = gen(fc.nat, eventModels.length - 5);
        for (const model of eventModels.slice(first, first + 5)) {
          for (const prepared of operations) {
            const args = argsOf(prepared, {} as GraphqlContext); // plain data needs no context
            const executed = await execute({ ...args, rootValue: { jobEvents: model } });
            expect(encoderOf(prepared)?.encode(model)).toBe(JSON.stringify(executed));
            compared += 1;
          }
        }
      }),
      { numRuns: 150 },
    );
    expect(compared).toBeGreaterThan(2_000);
  });
});
