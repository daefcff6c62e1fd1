import type { NextFunction, Request, Response } from 'express';

import type { TextsInMemory } from '#platform';

/**
 * Counts the texts that each request reads until its response has been sent, and disconnects a client that reads nothing of a complete
 * response for `slowMs`: both keep unread responses from filling the memory.
 */
export function unsentResponsesMiddleware(texts: TextsInMemory, slowMs: number) {
  return (_: Request, response: Response, next: NextFunction): void => {
    const request = texts.open();
    response.once('close', () => {
      request.end();
    });
    // Emitted when the handler has ended the response. Node resets the timeout of a keep-alive connection once the response is sent.
    response.once('prefinish', () => {
      if (response.writableLength > 0) response.setTimeout(slowMs);
    });
    request.run(next);
  };
}
