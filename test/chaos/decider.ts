/** The fields of a REST interrupt that the tests read. */
export interface ShownRequest {
  readonly id: string;
  readonly jobId: string;
  readonly kind: string;
  readonly callId: string;
  readonly request: { readonly argumentsHash: string; readonly argumentsPreview: string };
}

export interface DecisionReply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const mostTries = 5;

/** A client at the inbox of one api process. A process that dies meanwhile rejects with `fetch failed`. */
export class Decider {
  readonly url: string;

  constructor(
    api: { readonly url: string | null },
    private readonly key: string,
  ) {
    this.url = api.url ?? '';
  }

  /** What is open, newest first. */
  async open(jobId?: string): Promise<readonly ShownRequest[]> {
    const { body } = await this.call(
      `/api/interrupts?status=open&limit=100${jobId === undefined ? '' : `&jobId=${jobId}`}`,
    );
    return body['interrupts'] as readonly ShownRequest[]; // the contract's shape
  }

  decide({ id }: { readonly id: string }, answer: object): Promise<DecisionReply> {
    return this.call(`/api/interrupts/${id}/decision`, answer);
  }

  approve(asked: { readonly id: string; readonly request: object }, more: object = {}): Promise<DecisionReply> {
    const argumentsHash: unknown = Reflect.get(asked.request, 'argumentsHash');
    return this.decide(asked, { decision: 'approve', argumentsHash, ...more });
  }

  deny(asked: { readonly id: string }): Promise<DecisionReply> {
    return this.decide(asked, { decision: 'deny' });
  }

  /** Gets, or posts a body. */
  async call(path: string, body?: object, tries = mostTries): Promise<DecisionReply> {
    const headers = { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(new URL(path, this.url), { headers, ...sent });
    // A busy machine responds with 503 after some seconds and has done nothing: repeat the request, as any client does.
    if (response.status === 503 && tries > 1) {
      await response.body?.cancel();
      return this.call(path, body, tries - 1);
    }
    return { status: response.status, body: (await response.json()) as DecisionReply['body'] }; // it answers in JSON objects
  }
}
