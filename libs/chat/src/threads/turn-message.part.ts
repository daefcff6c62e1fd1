import { type CommitPart, type PartRow, partRow, type Turn, type TurnStarter } from '#jobs';
import type { ChatMessage } from '#models';
import { newId } from '#platform';

import { joiningMessages, toChatInput } from '../input/chat-input.js';

type Row = readonly [
  workspaceId: string,
  jobId: string,
  id: string,
  threadId: string,
  position: number,
  role: string,
  content: unknown,
  clientId: string | null,
  createdBy: string | null,
];

/** Only the response belongs to the job, whose rounds contain its text. The other messages contain their own content. */
const turnMessages: CommitPart<Row> = {
  name: 'turn_messages',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['id', 'uuid'],
    ['thread_id', 'uuid'],
    ['position', 'int'],
    ['role', 'text'],
    ['content', 'jsonb'],
    ['client_id', 'text'],
    ['created_by', 'uuid'],
  ],
  sql: (
    rows,
  ) => `INSERT INTO message (workspace_id, id, thread_id, position, role, client_id, content, job_id, created_by)
  SELECT r.workspace_id, r.id, r.thread_id, r.position, r.role, r.client_id, r.content,
         CASE WHEN r.content IS NULL THEN r.job_id END, r.created_by FROM ${rows} r RETURNING 1`,
};

/** When a chat job's turn begins, the messages of its request and the row of its response enter the conversation. */
export const chatTurns: TurnStarter = {
  kind: 'chat',
  rows: (turn: Turn): readonly PartRow[] => turnRows(turn, joiningMessages(toChatInput(turn.input))),
};

/** The messages of the request, then the row of the job's response. */
export function turnRows(turn: Turn, asked: readonly ChatMessage[]): readonly PartRow[] {
  return [
    ...asked.map((message, i) =>
      toRow(turn, turn.position + i, { id: newId(), role: message.role, content: toContent(message) }),
    ),
    toRow(turn, turn.position + asked.length, { id: turn.messageId, role: 'assistant', content: null }),
  ];
}

interface TurnMessage {
  readonly id: string;
  readonly role: string;
  readonly content: unknown;
}

function toRow(turn: Turn, position: number, { id, role, content }: TurnMessage): PartRow {
  const { workspaceId, jobId, threadId } = turn;
  const clientId = content === null ? turn.messageClientId : null;
  const createdBy = content === null ? null : turn.createdBy;
  return partRow(turnMessages, [workspaceId, jobId, id, threadId, position, role, content, clientId, createdBy]);
}

/** Returns plain content unchanged. A message with further members (a name, tool calls) is stored whole. */
export function toContent(message: ChatMessage): unknown {
  const { role, content, ...more } = message;
  return Object.keys(more).length === 0 && content !== null ? content : { ...message, role };
}
