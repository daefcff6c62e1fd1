/** Sends a pong unless one is still on its way: a peer that sends pings and reads nothing must not fill the memory with pongs. */
export function onePong<T>(send: (payload: T) => Promise<void>): (payload: T) => Promise<void> {
  let isPending = false;
  return async (payload) => {
    if (isPending) return;
    isPending = true;
    await send(payload);
    isPending = false;
  };
}
