import type { SubflowInput } from '../definition/document.js';
import type { GraphNodeOf, WorkflowGraph } from '../definition/graph.js';
import { type JsonObject, memberOf } from '../definition/json.js';
import { LIMITS } from '../definition/limits.js';
import { fillJson, type Lookup, lookupIn } from '../definition/template.js';
import { type Container, type LiveRun, textOf } from './live-run.js';
import { type NodeFailed, refusal } from './outcome.js';
import { Scope, type ScopeEnd, type ScopeOptions } from './scope.js';
import { ScopeMemory } from './scope-memory.js';

/** A `subflow`: another workflow, which sees only its inputs of this one. */
export class SubflowRun implements Container {
  readonly kept = null;
  private inside: Scope | null = null;

  constructor(
    private readonly run: LiveRun,
    private readonly node: GraphNodeOf<'subflow'>,
    private readonly around: ScopeOptions & { readonly subflows: ReadonlyMap<string, WorkflowGraph> },
  ) {}

  begin(): void {
    const { state, depth, subflows } = this.around;
    const { subflowId } = this.node.data;
    if (!state.beginContainer(this.run)) return;
    const graph = subflows.get(subflowId);
    if (depth >= LIMITS.subflowDepth) this.fail(refusal(TOO_DEEP));
    else if (graph === undefined) this.fail(refusal(`Subflow "${subflowId}" not found`));
    else this.enter(graph);
  }

  *unfinished(): Generator<LiveRun> {
    if (this.inside !== null) yield* this.inside.unfinished();
  }

  private enter(graph: WorkflowGraph): void {
    const given = this.given(graph);
    if ('error' in given) {
      this.fail(given);
      return;
    }
    const { prefix, path } = this.around;
    this.inside = new Scope({
      ...this.around,
      graph,
      level: null,
      owner: this.run,
      memory: this.memoryOf(graph, given),
      prefix: `${prefix}sf:${this.node.id}|`,
      path: [...path, this.run.row.nodeId],
      depth: this.around.depth + 1,
      onEnd: this.ended,
    });
    this.inside.enter(given.text);
  }

  private given(graph: WorkflowGraph): SubflowGiven | NodeFailed {
    const { subflowId, inputMappings } = this.node.data;
    const { input } = this.run.row;
    const { memory } = this.around;
    const lookup = lookupIn({ input, outputs: memory.outputs, inputs: memory.inputs, sessionId: memory.sessionId });
    try {
      const given = subflowInputs(graph.inputs, inputMappings, { input, lookup });
      if (given.missing.length === 0) return given;
      return refusal(`Missing required inputs for subflow "${subflowId}": ${given.missing.join(', ')}`);
    } catch (error) {
      return refusal(error instanceof Error ? error.message : 'The inputs could not be read', 'VALIDATION');
    }
  }

  /** The subflow has its own conversation, which begins with its input. It shares the session id only if the node allows it. */
  private memoryOf(graph: WorkflowGraph, { values, text }: SubflowGiven): ScopeMemory {
    const { sessionId, attachments } = this.around.memory;
    return ScopeMemory.of(
      {
        workflowName: graph.name,
        sessionId: this.node.data.shareSession ? sessionId : `${sessionId}/${textOf(this.run.row)}`,
        inputs: values,
        attachments,
      },
      [{ role: 'user', content: text }],
    );
  }

  private readonly ended = (end: ScopeEnd): void => {
    if (end.type === 'failed') {
      this.fail({ ...end.failure, errorInput: `Subflow error: ${end.failure.error.message}` });
      return;
    }
    const output = this.inside?.finalOutput ?? '';
    this.around.state.complete(this.run, { output, handles: ['output'], handOn: 'output' });
  };

  private fail(failure: NodeFailed): void {
    this.around.state.fail(this.run, failure);
  }
}

const TOO_DEEP = `Maximum subflow depth (${LIMITS.subflowDepth}) exceeded. Check for recursive subflows.`;

/** The inputs of a subflow. */
interface SubflowGiven {
  readonly values: ReadonlyMap<string, unknown>;
  /** The user text of the subflow: the first declared input, else the node's input. */
  readonly text: string;
  /** Required inputs that have neither a mapping nor a default. */
  readonly missing: readonly string[];
}

/** Evaluates the mappings of a subflow node. Throws `too_large` if a value becomes too long. */
function subflowInputs(
  declared: readonly SubflowInput[],
  mappings: JsonObject,
  { input, lookup }: { readonly input: string; readonly lookup: Lookup },
): SubflowGiven {
  const values = new Map<string, unknown>();
  const missing: string[] = [];
  for (const { id, required, default: preset } of declared) {
    const mapping = memberOf(mappings, id);
    const value = mapping === undefined ? preset : fillJson(mapping, lookup);
    if (value !== undefined) values.set(id, value);
    else if (required) missing.push(id);
  }
  const first = values.get(declared[0]?.id ?? '');
  return { values, missing, text: first === undefined ? input : toText(first) };
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
