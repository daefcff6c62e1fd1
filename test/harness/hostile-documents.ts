/** A request whose document no transport may run. */
export interface HostileRequest {
  readonly title: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** Part of the first error. */
  readonly message: string;
}

const nested = (depth: number) =>
  `{ thread(id: "x") { messages { nodes { job ${'{ thread { messages { nodes { job '.repeat(depth)}{ id }${' } } } }'.repeat(depth)} } } } }`;

/** Fragments that stand for 2^levels fields. */
function doubling(levels: number): string {
  const body = (i: number) => (i === levels ? 'id' : `...F${i + 1} ...F${i + 1}`);
  return `{ me { ...F0 } } ${Array.from({ length: levels + 1 }, (_, i) => `fragment F${i} on User { ${body(i)} }`).join(' ')}`;
}

const many = (count: number, part: (i: number) => string) => Array.from({ length: count }, (_, i) => part(i)).join(' ');
const deepIntrospection = '{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }';

/** One or more for each limit of docs/clients.md. */
export const hostileRequests: readonly HostileRequest[] = [
  { title: 'a depth of 45', query: nested(10), message: 'depth' },
  { title: 'a depth of 2,000', query: nested(500), message: 'more that 2000 tokens' },
  { title: 'more characters than 50,000', query: nested(5_000), message: 'longer than 50000 characters' },
  {
    title: 'more tokens than 2,000',
    query: `{ ${'tools { name } '.repeat(1_000)} }`,
    message: 'more that 2000 tokens',
  },
  { title: 'one field 101 times', query: `{ ${'tools { name } '.repeat(101)} }`, message: 'at most 100 times' },
  { title: '200 aliases', query: `{ ${many(200, (i) => `a${i}: tools { name }`)} }`, message: 'liases limit' },
  {
    title: '200 directives',
    query: `{ tools { name ${'@skip(if: false) '.repeat(200)} } }`,
    message: 'irectives limit',
  },
  {
    title: 'a fragment that spreads itself',
    query: '{ tools { ...a } } fragment a on Tool { ...b } fragment b on Tool { ...a }',
    message: 'within itself',
  },
  { title: 'fragments that double', query: doubling(60), message: 'at most 2000 fields and fragments' },
  { title: 'a fragment without use', query: '{ me { id } } fragment f on User { id }', message: 'never used' },
  {
    title: 'a cost above 10,000',
    query:
      '{ jobs(first: 100) { nodes { thread { messages(first: 100) { nodes { job { rounds { text } toolCalls { result } } } } } } } }',
    message: 'the limit is 10000',
  },
  {
    title: 'a cost above 10,000 by its variables',
    query:
      'query($n: Int) { jobs(first: $n) { nodes { thread { messages(first: $n) { nodes { job { id status } } } } } } }',
    variables: { n: 100 },
    message: 'the limit is 10000',
  },
  {
    title: 'more values than 20,000 in its variables',
    query: 'query($ids: [ID!]!) { nodes(ids: $ids) { nodeId } }',
    variables: { ids: Array.from({ length: 20_001 }, () => 'x') },
    message: 'more than 20000 values',
  },
  { title: 'deep introspection', query: deepIntrospection, message: 'introspection depth' },
  {
    title: 'two __schema',
    query: '{ a: __schema { types { name } } b: __schema { types { name } } }',
    message: 'only once',
  },
  { title: 'an unknown field', query: '{ tol { name } }', message: 'Cannot query field "tol" on type "Query".' },
  { title: 'a syntax error', query: '{ tools { name', message: 'Syntax Error' },
  {
    title: 'a variable of a wrong type',
    query: 'query($n: Int) { jobs(first: $n) { totalCount } }',
    variables: { n: 'x' },
    message: 'Int cannot represent',
  },
  { title: 'no such operation', query: 'query A { me { id } } query B { me { id } }', message: 'Set operationName' },
];
