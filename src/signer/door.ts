import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { SignerDoor, SignerAdmission, SignerChallenge } from '../ports/signer/protocol.ts';
import { isSame, proofOf } from '../runtime/cryptography/shared-secret.ts';

const hex = z.string().regex(/^[0-9a-f]{64}$/);
const greetingSchema = z.strictObject({ token: z.string() });
const proofSchema = z.strictObject({ challenge: hex, proof: hex });

/** One connecting caller: an optional greeting, and the reply that admits it; null if it is refused. */
interface Caller {
  readonly hello: SignerChallenge | null;
  admit(value: unknown): object | null;
}

export interface Door {
  caller(): Caller;
  /** The socket is also accessible to the user's group. */
  readonly forGroup: boolean;
}

export function openDoor(door: SignerDoor, about: Pick<SignerAdmission, 'modes' | 'pays'>): Door {
  if (door.kind === 'parent') return parentDoor(door.token);
  const { secret, acceptedRisks } = door;
  return userDoor(secret, { ...about, acceptedRisks });
}

/** The token admits one connection, once: that of the process that started the signer. */
function parentDoor(token: string): Door {
  let tokenUsed = false;
  const admit = (value: unknown): object | null => {
    const greeting = greetingSchema.safeParse(value);
    if (!greeting.success || !isSame(greeting.data.token, token) || tokenUsed) return null;
    tokenUsed = true;
    return { admitted: true };
  };
  return { caller: () => ({ hello: null, admit }), forGroup: false };
}

function userDoor(secret: string, about: Omit<SignerAdmission, 'proof'>): Door {
  const caller = (): Caller => {
    const challenge = randomBytes(32).toString('hex');
    return {
      hello: { challenge },
      admit: (value) => {
        const given = proofSchema.safeParse(value);
        if (!given.success) return null;
        const challenges = { signer: challenge, service: given.data.challenge };
        if (!isSame(given.data.proof, proofOf(secret, 'service', challenges))) return null;
        return { ...about, proof: proofOf(secret, 'signer', challenges) } satisfies SignerAdmission;
      },
    };
  };
  return { caller, forGroup: true };
}
