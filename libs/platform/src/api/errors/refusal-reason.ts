interface Noted {
  readonly locals: Record<string, unknown>;
}

/** Stores why a request is refused, for the log of the operator: a sender without a credential must not learn it. */
export function noteRefusal({ locals }: Noted, reason: string): void {
  locals['refusalReason'] = reason;
}

/** The reason of `noteRefusal`, as a field of a log line. */
export function refusalReasonOf({ locals }: Noted): { readonly reason?: string } {
  const reason = locals['refusalReason'];
  return typeof reason === 'string' ? { reason } : {};
}
