import type { SecretGenerated } from '../../domain/events/operations-events.ts';
import { secretsStream, type SecretPurpose } from '../../domain/values/streams.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import { appendNext } from '../../runtime/commands/append-next.ts';
import { dataOf } from '../../runtime/commands/codec.ts';

/** Seals short secrets under the master key. `context` binds the text to its purpose (AES-GCM additional data). */
export interface SecretSeal {
  seal(plain: Uint8Array, context: string): string;
  /** Throws if the text was sealed for another context or under an unknown master key. */
  open(sealed: string, context: string): Uint8Array;
}

export interface SharedSecret {
  readonly version: number;
  readonly bytes: Uint8Array;
}

/**
 * The secrets for a purpose, newest first: generated once for all nodes and stored sealed in the event log. Two nodes
 * that start at the same moment agree, because only one append to the stream can be the first.
 */
export async function sharedSecrets(
  purpose: SecretPurpose,
  deps: { store: EventStore; seal: SecretSeal; random: Random; clock: Clock },
): Promise<SharedSecret[]> {
  const stream = secretsStream(purpose);
  const context = (version: number): string => `secret|${purpose}|${version}`;
  const recorded = await deps.store.readStream(stream);
  if (recorded.length > 0) {
    const facts = recorded.map((event) => dataOf(event, 'SecretGenerated'));
    return facts
      .map((fact) => ({
        version: fact.secretVersion,
        bytes: deps.seal.open(fact.sealedSecret, context(fact.secretVersion)),
      }))
      .reverse();
  }
  const event: SecretGenerated = {
    type: 'SecretGenerated',
    data: { purpose, secretVersion: 1, sealedSecret: deps.seal.seal(deps.random.bytes(32), context(1)) },
  };
  await appendNext(deps, { stream, last: null, event, actor: 'system' });
  return sharedSecrets(purpose, deps);
}
