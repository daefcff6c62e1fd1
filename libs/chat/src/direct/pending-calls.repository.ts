import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { PrismaService } from '#platform';

/** A call that waits for a client of its job's requester. */
export interface PendingCall {
  /** The ledger row's id. */
  readonly toolCallId: string;
  /** As the client knows it. */
  readonly callId: string;
  readonly name: string;
  /** JSON text, as it is to be run. */
  readonly arguments: string;
  /** The server was asked to run it. */
  readonly isExecuted: boolean;
}

/** Reads calls that wait for clients, as the API's role inside the workspace. */
@Injectable()
export class PendingCallsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * By the id that the client knows: unique among the calls that wait for one principal of OpenAI's API; elsewhere the newest counts.
   * Null: there is none, or it waits for another principal.
   */
  async find(principal: Pick<Principal, 'workspaceId' | 'id'>, callId: string): Promise<PendingCall | null> {
    const { workspaceId, id } = principal;
    const row = await this.prisma.withWorkspace(principal, (tx) =>
      tx.interrupt.findFirst({
        where: {
          ...{ workspaceId, principal: id, callId, status: 'open', kind: 'client_tool' },
          toolCall: { is: { status: 'awaiting_client' } },
        },
        orderBy: { id: 'desc' },
        select: { toolCallId: true, tool: true, request: true, toolCall: { select: { executed: true } } },
      }),
    );
    if (row?.toolCallId == null) return null;
    const { toolCallId, tool, toolCall } = row;
    const request = row.request as { readonly arguments: string }; // as the request of a client's call is written
    return {
      toolCallId,
      callId,
      name: tool ?? '',
      arguments: request.arguments,
      isExecuted: toolCall?.executed != null,
    };
  }
}
