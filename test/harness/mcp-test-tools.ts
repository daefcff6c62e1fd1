import { McpServer, type RegisteredTool, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** What the tools of a test server share with the test: the recorded calls and the blocked ones. */
export class McpStage {
  /** Every call that began. */
  readonly calls: McpSeenCall[] = [];
  /** Names of tools whose call was cancelled. */
  readonly cancelled: string[] = [];
  /** Descriptions that a test has changed, by tool. */
  readonly descriptions = new Map<string, string>();
  /** The progress message of `steps` and `die`. */
  progressText: (progress: number) => string = (progress) => `step ${progress}`;
  /** Ends all connections at once. */
  die: () => void = () => undefined;
  private readonly waiting = new Set<() => void>();

  /** Continues every waiting call. */
  release(): void {
    for (const go of this.waiting) go();
    this.waiting.clear();
  }

  /** The number of blocked calls. */
  get held(): number {
    return this.waiting.size;
  }

  hold(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.add(resolve);
      signal.addEventListener('abort', () => {
        this.waiting.delete(resolve);
        reject(new Error('cancelled'));
      });
    });
  }
}

export interface McpSeenCall {
  readonly tool: string;
  readonly meta: Readonly<Record<string, unknown>>;
  /** Headers of its request; empty over stdio. */
  readonly headers: Readonly<Record<string, string>>;
}

type Result = Awaited<ReturnType<Parameters<McpServer['registerTool']>[2]>>;
interface TestTool {
  readonly description: string;
  readonly input?: z.ZodType;
  readonly output?: z.ZodType;
  readonly annotations?: { readonly readOnlyHint?: boolean; readonly idempotentHint?: boolean };
  run(args: Readonly<Record<string, unknown>>, context: ServerContext, stage: McpStage): Promise<Result> | Result;
}

const text = (content: string): Result => ({ content: [{ type: 'text', text: content }] });

const TOOLS: Readonly<Record<string, TestTool>> = {
  echo: {
    description: 'Returns its text.',
    input: z.object({ text: z.string() }),
    annotations: { readOnlyHint: true },
    run: (args) => text(String(args['text'])),
  },
  add: {
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    output: z.object({ sum: z.number() }),
    annotations: { idempotentHint: true },
    run: ({ a, b }) => ({ content: [], structuredContent: { sum: Number(a) + Number(b) } }),
  },
  send: {
    description: 'Sends a mail.',
    input: z.object({ to: z.string() }),
    run: ({ to }) => text(`sent to ${String(to)}`),
  },
  fail: { description: 'Fails.', run: () => ({ ...text('no more paper'), isError: true }) },
  steps: {
    description: 'Reports progress, then waits.',
    run: async (_, context, stage) => {
      for (const progress of [1, 2, 3]) await reportProgress(context, progress, stage);
      await stage.hold(context.mcpReq.signal);
      return text('done');
    },
  },
  hang: {
    description: 'Never answers.',
    run: async (_, context, stage) => {
      await stage.hold(context.mcpReq.signal);
      return text('late');
    },
  },
  die: {
    description: 'Ends the connection in the middle of the call.',
    run: async (_, context, stage) => {
      await reportProgress(context, 1, stage);
      stage.die();
      await stage.hold(context.mcpReq.signal);
      return text('never');
    },
  },
  huge: {
    description: 'Answers at length.',
    input: z.object({ bytes: z.number() }),
    run: ({ bytes }) => text('x'.repeat(Number(bytes))),
  },
  many: {
    description: 'Answers with many entries.',
    input: z.object({ entries: z.number() }),
    run: ({ entries }) => ({ ...text(''), _meta: { entries: Array(Number(entries)).fill(1) } }),
  },
  ask: {
    description: 'Asks the person for a password.',
    run: async (_, { mcpReq }) => {
      const requestedSchema = { type: 'object' as const, properties: { password: { type: 'string' as const } } };
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- the push style of 2025; what it asks is refused
      const answer = await mcpReq.elicitInput({ message: 'Your password?', requestedSchema });
      return text(JSON.stringify(answer));
    },
  },
};

async function reportProgress({ mcpReq }: ServerContext, progress: number, stage: McpStage): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress, total: 3, message: stage.progressText(progress) };
  await mcpReq.notify({ method: 'notifications/progress', params });
}

/** A server with all test tools. `registered` can be used to change them while it runs. */
export function createTestMcpServer(stage: McpStage): {
  readonly server: McpServer;
  readonly registered: ReadonlyMap<string, RegisteredTool>;
} {
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  const registered = new Map(
    Object.entries(TOOLS).map(([name, tool]) => {
      const { input = z.object({}), output, annotations } = tool;
      const config = {
        description: stage.descriptions.get(name) ?? tool.description,
        inputSchema: input as z.ZodObject, // every input above is an object
        ...(output === undefined ? {} : { outputSchema: output as z.ZodObject }),
        ...(annotations === undefined ? {} : { annotations }),
      };
      const run = async (args: Readonly<Record<string, unknown>>, context: ServerContext) => {
        const { mcpReq, http } = context;
        const headers = Object.fromEntries(http?.req?.headers ?? []);
        stage.calls.push({ tool: name, meta: { ...mcpReq._meta }, headers });
        mcpReq.signal.addEventListener('abort', () => stage.cancelled.push(name));
        return tool.run(args, context, stage);
      };
      return [name, server.registerTool(name, config, run)] as const;
    }),
  );
  return { server, registered };
}
