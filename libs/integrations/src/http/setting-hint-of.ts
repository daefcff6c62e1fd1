import { OutboundError } from '#platform';

const REMEDIES: Readonly<Partial<Record<OutboundError['code'], string>>> = {
  address_refused: 'For development, the operator can allow private addresses: ALLOW_PRIVATE_TOOL_URLS=true.',
  outbound_port_refused:
    'The operator can add the port to OUTBOUND_PORTS or, for development, allow all: ALLOW_PRIVATE_TOOL_URLS=true.',
};

/**
 * The setting that would allow a rejected request, as a sentence for people who manage tools and may know the operator. Never show it to a
 * model. Null: no setting would.
 */
export function settingHintOf(error: unknown): string | null {
  return error instanceof OutboundError ? (REMEDIES[error.code] ?? null) : null;
}
