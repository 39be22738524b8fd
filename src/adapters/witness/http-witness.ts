import type { CheckpointWitness } from '../../ports/event-log/audit.ts';
import { signaturesIn } from '../../runtime/merkle/checkpoint-note.ts';

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_CHARACTERS = 16_384;
const CONFLICT = 409;

/** A witness reached over HTTP: `POST <url>/add-checkpoint` (c2sp.org/tlog-witness). */
export function createHttpWitness(url: string): CheckpointWitness {
  const endpoint = `${url.replace(/\/+$/, '')}/add-checkpoint`;
  let known = 0;

  async function post(checkpoint: string, proof: readonly string[]): Promise<{ status: number; text: string }> {
    const body = `old ${known}\n${proof.map((node) => `${node}\n`).join('')}\n${checkpoint}`;
    const response = await fetch(endpoint, {
      method: 'POST',
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'error',
    });
    return { status: response.status, text: (await response.text()).slice(0, MAX_ANSWER_CHARACTERS) };
  }

  return {
    cosign: async (checkpoint, size, proofFrom) => {
      let answer = await post(checkpoint, await proofFrom(known));
      // A witness that knows another size states it.
      if (answer.status === CONFLICT && /^\d{1,15}\n?$/.test(answer.text) && Number(answer.text) <= size) {
        known = Number(answer.text);
        answer = await post(checkpoint, await proofFrom(known));
      }
      if (answer.status !== 200) throw new Error(`the witness answered ${answer.status}`);
      if (signaturesIn(answer.text) === null) throw new Error('the witness answered something other than signatures');
      known = size;
      return answer.text;
    },
  };
}
