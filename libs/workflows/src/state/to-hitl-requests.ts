import type { RunState, ShownQuestion } from './run-state.repository.js';
import type { WorkflowState } from './workflow-state.js';

/** The id that clients answer by: the one that was shown in the request, else our own. */
function requestIdOf({ id, request }: ShownQuestion): string {
  return typeof request['id'] === 'string' ? request['id'] : id;
}

/** Questions of a run by the ids that clients answer them by, each with its answer if it has one. */
export function toHitlRequests({ questions }: Pick<RunState, 'questions'>): WorkflowState['hitlRequests'] {
  return Object.fromEntries(
    questions.map((question) => {
      const id = requestIdOf(question);
      const { nodeId, request, createdAt, expiresAt, outcome, decidedBy, decidedAt } = question;
      const answer = outcome?.answer;
      const data = answer?.data ?? undefined;
      const response =
        outcome === null
          ? {}
          : {
              response: {
                requestId: id,
                action: answer?.action ?? outcome.outcome,
                ...(data === undefined ? {} : { data }),
                ...(decidedBy === null ? {} : { respondedBy: decidedBy }),
                respondedAt: decidedAt,
              },
            };
      const expiry = expiresAt === null ? {} : { expiresAt };
      return [id, { createdAt, ...expiry, ...(nodeId === null ? {} : { nodeId }), ...request, id, ...response }];
    }),
  );
}
