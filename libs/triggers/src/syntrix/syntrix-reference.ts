export const SYNTRIX = 'syntrix';

/** The document that a job is about, as its input stores it. */
export interface SyntrixReference {
  readonly connectionId: string;
  readonly chatPath: string;
  /** The user of the chat, as the database knows them. */
  readonly userId: string;
  /** The place of the delivery among those of the chat (`SyntrixDelivery.order`). */
  readonly order: string;
  readonly documentPath: string;
  /** The message to answer; null: the document is a tool call. */
  readonly messageId: string | null;
  /** The pre-issued token, sealed; null: none. */
  readonly token: string | null;
}
