import { chance, type ModelCall, type ModelReply, textAbout, type World } from './oracle-world.js';
import { type NodeSketch, workflowDocument } from './workflow-document.js';

/** One piece of a chain. */
export type Piece =
  | { readonly type: 'agent'; readonly data: object; readonly handled: boolean }
  | { readonly type: 'router'; readonly data: object; readonly bare: boolean; readonly routes: readonly Chain[] }
  | { readonly type: 'parallel'; readonly data: object; readonly branches: number }
  | { readonly type: 'whileLoop'; readonly data: object; readonly body: Chain }
  | { readonly type: 'subflow'; readonly data: object; readonly inside: Chain };

export type Chain = readonly Piece[];

/** How a chain ends: with an output, with parallel agents and an output, or with its last node. */
export type Ending =
  { readonly type: 'output'; readonly data: object } | { readonly type: 'fork'; readonly size: number } | null;

const declared = {
  inputs: [
    { id: 'topic', name: 'Topic', type: 'string', required: true },
    { id: 'tone', name: 'Tone', type: 'string', default: '<calm>' },
  ],
  outputs: [{ id: 'output', name: 'Output', type: 'string' }],
};

/** Makes a document of a chain; nodes are called `n0`, `n1`... in the order in which they are written. */
export class Sketcher {
  private readonly nodes: Record<string, NodeSketch> = { start: ['start', { label: '<start>' }] };
  private readonly edges: string[] = [];

  private constructor(private readonly subflows: Record<string, object>) {}

  /** Nested workflows of the chain are added to `subflows`. */
  static document(chain: Chain, ending: Ending, subflows: Record<string, object>): object {
    const sketcher = new Sketcher(subflows);
    sketcher.end(ending, sketcher.chain(chain, ['start']));
    const meta = { name: '<flow>', tools: ['*'], compat: { routerEcho: true }, subflow: declared };
    return workflowDocument(sketcher.nodes, sketcher.edges, meta);
  }

  /** Returns the source of the next edge. */
  private chain(chain: Chain, from: readonly string[]): readonly string[] {
    return chain.reduce((ends, piece) => this.piece(piece, ends), from);
  }

  private piece(piece: Piece, from: readonly string[]): readonly string[] {
    switch (piece.type) {
      case 'agent': {
        const id = this.add('agent', piece.data, from);
        if (piece.handled) this.add('agent', { prompt: '<handle>' }, [`${id}:error`]);
        return [id];
      }
      case 'router': {
        const routes = piece.routes.map((_, index) => ({ id: `way-${index}`, label: `<way ${index}>` }));
        const id = this.add('router', { ...piece.data, routes }, from);
        return piece.routes.flatMap((route, index) => this.chain(route, [piece.bare ? id : `${id}:way-${index}`]));
      }
      case 'parallel':
        return this.parallel(piece, from);
      case 'whileLoop': {
        const id = this.add('whileLoop', piece.data, from);
        this.chain(piece.body, [`${id}:body`]);
        return [`${id}:done`];
      }
      case 'subflow': {
        const subflowId = `child-${Object.keys(this.subflows).length}`;
        this.subflows[subflowId] = {};
        this.subflows[subflowId] = Sketcher.document(piece.inside, null, this.subflows);
        return [this.add('subflow', { ...piece.data, subflowId }, from)];
      }
    }
  }

  private parallel({ data, branches: size }: Extract<Piece, { type: 'parallel' }>, from: readonly string[]) {
    const branches = Array.from({ length: size }, (_, index) => ({
      ...{ id: `b${index}`, label: `<branch ${index}>`, prompt: index === 1 ? '' : `<view ${index}>` },
      tools: index === 0 ? ['find'] : [],
    }));
    const id = this.add('parallel', { model: 'test/parallel', branches, ...data }, from);
    const merges = !('mergeEnabled' in data) || data.mergeEnabled === true;
    return merges ? [`${id}:merged`] : branches.map((branch) => `${id}:${branch.id}`);
  }

  private end(ending: Ending, from: readonly string[]): void {
    if (ending?.type === 'output') this.add('output', ending.data, from);
    if (ending?.type !== 'fork') return;
    const agents = Array.from({ length: ending.size }, () =>
      this.add('agent', { prompt: '<side>', tools: ['count'] }, from),
    );
    this.add('output', { format: 'text' }, agents);
  }

  private add(type: string, data: object, from: readonly string[]): string {
    const id = `n${Object.keys(this.nodes).length - 1}`;
    const errorHandling = { mode: 'stop', retry: { maxRetries: 0, baseDelay: 1 } };
    const texts = { label: `<${id}>`, description: `<about ${id}>` };
    const smallest = type === 'parallel' ? { prompt: '' } : {};
    this.nodes[id] = [type, { ...smallest, ...texts, errorHandling, ...data }];
    for (const end of from) this.edges.push(`${end} > ${id}`);
    return id;
  }
}

/** The results of the tools depend only on their arguments. */
export const tools: World['tools'] = {
  find: (args) => textAbout('find', args),
  count: (args) => textAbout('count', args),
};

/** A model whose answers depend only on the request. Requests that contain `<weak>` sometimes fail at once. */
export function modelOf(salt: number): World['reply'] {
  return (call) => {
    const pick = (of: number, what: string) => chance(of, salt, call, what);
    const text = textAbout(salt, call);
    if (call.kind === 'route') return route(call, pick);
    if (call.kind === 'condition') return { text: pick(3, 'more') > 0 ? 'Continue.' : 'done' };
    if (isFirst(call) && call.messages[0]?.startsWith('system: <weak>') === true && pick(2, 'fail') === 0) {
      return { text: '', fail: { message: `no ${text}`, status: [500, 429, 401][pick(3, 'status')] ?? 500 } };
    }
    if (call.tools.length > 0 && pick(3, 'call') > 0) {
      const names = [...call.tools, 'missing'];
      const asked = Array.from({ length: 1 + pick(2, 'calls') }, (_, at) => ({
        name: names[pick(names.length, `name ${at}`)] ?? '',
        arguments: JSON.stringify({ about: text, at }),
      }));
      return { text: '', calls: asked };
    }
    return { text: pick(6, 'json') === 0 ? JSON.stringify({ answer: text }) : text };
  };
}

/** In the library a retry restarts the conversation; here it continues it. */
function isFirst({ messages }: ModelCall): boolean {
  return !messages.some((message) => message.startsWith('tool:'));
}

/** Mostly a valid route; sometimes an invalid number or name. */
function route({ tools: ids }: ModelCall, pick: (of: number, what: string) => number): ModelReply {
  const call = (id: string) => ({
    text: '',
    calls: [{ name: 'select_route', arguments: JSON.stringify({ route_id: id, reasoning: '<because>' }) }],
  });
  const chosen = pick(ids.length, 'route');
  switch (pick(8, 'how')) {
    case 0:
      return { text: `Route ${chosen + 1}, I think.` };
    case 1:
      return { text: '99' };
    case 2:
      return call('nowhere');
    default:
      return call(ids[chosen] ?? '');
  }
}
