import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { SignerDoor, SignerAdmission, SignerChallenge } from '../ports/signer-protocol.ts';
import { isSame, proofOf } from '../runtime/util/shared-secret.ts';

const hex = z.string().regex(/^[0-9a-f]{64}$/);
const greetingSchema = z.strictObject({ token: z.string() });
const proofSchema = z.strictObject({ challenge: hex, proof: hex });

/**
 * One caller at the door: what it is told first, if anything, and what it is told when it may come in; null when it may
 * not.
 */
interface Caller {
  readonly hello: SignerChallenge | null;
  admit(value: unknown): object | null;
}

export interface Door {
  caller(): Caller;
  /** The socket is for the user's group, too. */
  readonly forGroup: boolean;
}

export function openDoor(door: SignerDoor, about: Omit<SignerAdmission, 'proof'>): Door {
  return door.kind === 'parent' ? parentDoor(door.token) : userDoor(door.secret, about);
}

/**
 * The token admits one connection, once: the process that started the signer. Whoever finds the socket later finds a
 * closed door.
 */
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
