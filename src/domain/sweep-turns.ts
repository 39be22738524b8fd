/** Turns of one sweep over the addresses of ended sessions. */
export const TURNS = 4_096;

/** A session that ended within this time is checked often. */
export const RECENT_SEC = 24 * 3600;

/**
 * The turn of an address: the same in every sweep and every run, so that a restart continues where the last run
 * stopped. FNV-1a.
 */
export function turnOf(address: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < address.length; at += 1) hash = Math.imul(hash ^ address.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % TURNS;
}
