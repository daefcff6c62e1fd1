import type { NextFunction, Request, Response } from 'express';

import type { TextsInMemory } from '#platform';

/**
 * Counts the texts that each request reads until its response has been sent, and disconnects a client that reads nothing of a complete
 * response for `unreadMs`: both keep unread responses from filling the memory. A buffer of the kernel may have several MiB, so a slow client
 * seems to read nothing for a while; choose `unreadMs` accordingly.
 */
export function unsentResponsesMiddleware(texts: TextsInMemory, unreadMs: number) {
  return (_: Request, response: Response, next: NextFunction): void => {
    const request = texts.open();
    response.once('close', () => {
      request.end();
    });
    // Emitted when the handler has ended the response.
    response.once('prefinish', () => {
      if (response.writableLength === 0) return;
      response.setTimeout(unreadMs);
      // Before Node's own listener, which sets the timeout of a connection that has no further request.
      response.prependOnceListener('finish', () => response.setTimeout(0));
      request.complete(() => response.destroy());
    });
    request.run(next);
  };
}
