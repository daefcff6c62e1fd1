import type { ChatMessage } from '#models';

import type { EarlierOutput } from '../engine/node-executor.js';
import { userMessage } from './attachments.js';
import type { ContextOf } from './define-node.js';

/**
 * The messages an agent reads: its prompt with the outputs of earlier nodes, the session, and its input. The input is not repeated
 * when the session already ends with it.
 */
export async function agentMessages(context: ContextOf<'agent'>, input: string): Promise<readonly ChatMessage[]> {
  const { node, graph, view } = context;
  const system: ChatMessage = { role: 'system', content: systemText(node, textsOf(view.earlier, graph.routerEcho)) };
  const last = view.session.at(-1);
  const isRepeated = last?.role === 'user' && last.content === input;
  const session = isRepeated ? view.session.slice(0, -1) : view.session;
  const user = await userMessage(context, input, node.data.model);
  return [system, ...session, ...(user === null ? [] : [user])];
}

function systemText({ label, data }: ContextOf<'agent'>['node'], blocks: readonly string[]): string {
  const prompt = data.prompt.trim() === '' ? `You are a helpful assistant named ${label}.` : data.prompt;
  return blocks.length === 0 ? prompt : `${prompt}\n\nContext from previous agents:\n${blocks.join('\n\n')}`;
}

/** Routers are left out unless they echo: a router's output only repeats its input. */
function textsOf(earlier: readonly EarlierOutput[], routerEcho: boolean): readonly string[] {
  return earlier
    .filter(({ type, output }) => output !== '' && (type !== 'router' || routerEcho))
    .map(({ label, output }) => `[${label}]: ${output}`);
}
