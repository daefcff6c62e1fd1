import { OutboundError } from '#platform';

const REMEDIES: Readonly<Partial<Record<OutboundError['code'], string>>> = {
  address_refused: 'For development, the operator can allow private addresses: ALLOW_PRIVATE_TOOL_URLS=true.',
  outbound_port_refused:
    'The operator can add the port to OUTBOUND_PORTS or, for development, allow all: ALLOW_PRIVATE_TOOL_URLS=true.',
};

/**
 * Which setting would let a refused request go out: a sentence for those who manage tools, who may know the operator. Never for
 * a model. Null: none would.
 */
export function remedyOf(error: unknown): string | null {
  return error instanceof OutboundError ? (REMEDIES[error.code] ?? null) : null;
}
