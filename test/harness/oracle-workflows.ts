import fc from 'fast-check';

import { type Chain, type Ending, modelOf, type Piece, Sketcher, tools } from './oracle-sketcher.js';
import type { World } from './oracle-world.js';

/** A definition and its world. */
export interface OracleCase {
  readonly document: object;
  readonly world: World;
}

interface Where {
  /** Whether it may contain loops and subflows. */
  readonly depth: number;
  /** In the library a failure ends a subflow as a success, and nodes after a choice in a body never run. */
  readonly place: 'top' | 'body' | 'subflow';
  readonly fails: boolean;
}

const errorHandling = (mode: string, maxRetries = 0) => ({ mode, retry: { maxRetries, baseDelay: 1 } });

/** `fails`: some agents fail, some follow their error edge, and parts whose results are known to differ are left out. */
export function oracleCases({ fails }: { readonly fails: boolean }): fc.Arbitrary<OracleCase> {
  return fc
    .record({ chain: chains({ depth: 2, place: 'top', fails }), ending: endings(fails), salt: fc.nat(1_000_000) })
    .map(({ chain, ending, salt }) => {
      const subflows: Record<string, object> = {};
      return { document: Sketcher.document(chain, ending, subflows), world: { reply: modelOf(salt), tools, subflows } };
    });
}

function chains(where: Where): fc.Arbitrary<Chain> {
  const piece = pieces(where);
  const maxLength = where.depth === 2 ? 4 : 2;
  const chain = fc.array(piece, { minLength: 1, maxLength });
  if (where.place !== 'body') return chain;
  return fc.tuple(chain, fc.option(routers(where))).map(([some, last]) => (last === null ? some : [...some, last]));
}

function pieces(where: Where): fc.Arbitrary<Piece> {
  const flat = [agents(where), agents(where), parallels()];
  const choosing = where.place === 'body' ? [] : [routers(where)];
  const deep = where.depth === 0 ? [] : [loops(where), subflowPieces(where)];
  return fc.oneof(...flat, ...choosing, ...deep);
}

function agents({ fails, place }: Where): fc.Arbitrary<Piece> {
  const data = fc.record(
    {
      prompt: fc.constantFrom('<work>', '<think>', ''),
      temperature: fc.constantFrom(0, 0.5, 2),
      maxTokens: fc.constantFrom(5, 1_000),
      tools: fc.constantFrom(['find'], ['count', 'find'], []),
      maxToolIterations: fc.integer({ min: 1, max: 3 }),
      onMaxToolIterations: fc.constantFrom('warning', ...(fails ? ['error'] : [])),
    },
    { requiredKeys: ['prompt'] },
  );
  const handled = fails && place === 'top' ? fc.boolean() : fc.constant(false);
  return fc
    .record({ data, handled, retries: fc.nat(1), isWeak: fc.boolean() })
    .map(({ data, handled, retries, isWeak }) => ({
      type: 'agent' as const,
      data: {
        ...data,
        ...(fails && isWeak && place !== 'subflow' ? { prompt: '<weak>' } : {}),
        // In the library an agent that has used its iterations restarts.
        errorHandling: errorHandling(handled ? 'branch' : 'stop', data.onMaxToolIterations === 'error' ? 0 : retries),
      },
      handled,
    }));
}

function routers(where: Where): fc.Arbitrary<Piece> {
  const data = fc.record(
    {
      model: fc.constant('test/router'),
      prompt: fc.constantFrom('<rule a>', '<rule b>'),
      fallbackBehavior: fc.constantFrom(
        'first',
        'none',
        ...(where.fails && where.place !== 'subflow' ? ['error'] : []),
      ),
    },
    { requiredKeys: [] },
  );
  const route = fc.array(fc.oneof(agents(where), parallels()), { minLength: 1, maxLength: 2 });
  return fc
    .record({ data, bare: fc.boolean(), routes: fc.array(route, { minLength: 1, maxLength: 3 }) })
    .map((router) => ({ type: 'router' as const, ...router }));
}

function parallels(): fc.Arbitrary<Piece> {
  const data = fc.record(
    { prompt: fc.constantFrom('<merge>', ''), mergeEnabled: fc.boolean(), branchTimeout: fc.constant(0) },
    { requiredKeys: ['branchTimeout'] },
  );
  return fc
    .record({ data, branches: fc.integer({ min: 1, max: 3 }) })
    .map((parallel) => ({ type: 'parallel' as const, ...parallel }));
}

function loops(where: Where): fc.Arbitrary<Piece> {
  const mayEndBadly = where.fails && where.place !== 'subflow';
  const data = fc
    .record(
      {
        conditionPrompt: fc.constant('<more?>'),
        conditionModel: fc.constant('test/condition'),
        maxIterations: fc.integer({ min: 1, max: 3 }),
        onMaxIterations: fc.constantFrom('warning', 'continue', ...(mayEndBadly ? ['error'] : [])),
        loopMode: fc.constantFrom('condition', 'fixed'),
        customEvaluator: fc.constant('twice'),
        loopPrompt: fc.constantFrom(' <try> ', '  '),
        includePreviousOutputs: fc.boolean(),
        includeIterationContext: fc.boolean(),
        outputMode: fc.constantFrom('last', 'accumulate'),
      },
      { requiredKeys: ['conditionPrompt', 'maxIterations', 'onMaxIterations'] },
    )
    // A count that is always reached is not an error here.
    .map((loop) => (loop.loopMode === 'fixed' ? { ...loop, onMaxIterations: 'warning' } : loop));
  const place = where.place === 'subflow' ? ('subflow' as const) : ('body' as const);
  const body = chains({ ...where, depth: where.depth - 1, place: 'body', fails: where.fails && place === 'body' });
  return fc.record({ data, body }).map((loop) => ({ type: 'whileLoop' as const, ...loop }));
}

function subflowPieces(where: Where): fc.Arbitrary<Piece> {
  const mapped = fc.constantFrom('{{input}}', '{{output}}', '{{start}}', '{{outputs.start}}', '<text>');
  const mappings = fc.record(
    { topic: mapped, tone: fc.oneof(mapped, fc.constant('{{outputs.unknown}}')) },
    { requiredKeys: ['topic'] },
  );
  const inside = chains({ depth: where.depth - 1, place: 'subflow', fails: false });
  const data = fc.record({ inputMappings: mappings, shareSession: fc.boolean() });
  return fc.record({ data, inside }).map((subflow) => ({ type: 'subflow' as const, ...subflow }));
}

function endings(fails: boolean): fc.Arbitrary<Ending> {
  const sources = fc.constantFrom(['start', 'n0'], ['n1', 'unknown', 'n0'], ['n0:b0', 'n1:b1', 'n2:b0'], ['unknown']);
  const output = fc.record(
    {
      format: fc.constantFrom('text', 'json', 'markdown'),
      mode: fc.constantFrom('combine', 'synthesis'),
      sources: fails ? fc.constant(['start']) : sources,
      introText: fc.constant('<intro>'),
      outroText: fc.constant('<outro>'),
      synthesis: fc.record({ prompt: fc.constant('<sum up>'), model: fc.constant('test/synthesis') }),
      includeMetadata: fails ? fc.constant(false) : fc.boolean(),
      template: fails
        ? fc.constant('<{{start}}>')
        : fc.constantFrom('{{n0}} {{n0}}', '{{start}}{{unknown}}', 'plain', ''),
      useRawTemplate: fc.boolean(),
    },
    { requiredKeys: ['format', 'synthesis'] },
  );
  return fc.oneof(
    output.map((data) => ({ type: 'output' as const, data })),
    fc.integer({ min: 2, max: 3 }).map((size) => ({ type: 'fork' as const, size })),
    fc.constant(null),
  );
}
