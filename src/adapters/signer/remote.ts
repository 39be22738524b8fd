import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Mode } from '../../domain/values/ids.ts';
import { holding } from '../../domain/values/written-json.ts';
import type { Log } from '../../ports/log.ts';
import type { Signer } from '../../ports/signer/signer.ts';
import type { ServiceProof, SignerAdmission, SignerChallenge } from '../../ports/signer/protocol.ts';
import { jsonLine, readJsonLines } from '../../runtime/util/json-lines.ts';
import { isSame, proofOf } from '../../runtime/cryptography/shared-secret.ts';
import { connectTo, SignerConnection, SignerUnavailable, type SignerCaller } from './connection.ts';
import { signerCalls } from './signer-calls.ts';

/** A signer that runs as another user. */
export interface RemoteSigner extends Signer {
  readonly modes: readonly Mode[];
  readonly pays: boolean;
  /** As of the newest connection. */
  readonly acceptedRisks: () => SignerAdmission['acceptedRisks'];
}

const PROOF_TIMEOUT_MS = 5_000;

/**
 * Connects to a signer that runs as another user, after both sides have proven that they know the secret; no request is
 * sent before. The next call re-establishes a lost connection. Rejects with `SignerUnavailable`.
 */
export async function connectSigner({
  socketPath,
  secret,
  log,
}: {
  socketPath: string;
  secret: string;
  log: Log;
}): Promise<RemoteSigner> {
  const first = await enter(socketPath, secret);
  const { modes, pays } = first.admission;
  let { connection } = first;
  let { acceptedRisks } = first.admission;
  let entering: Promise<SignerConnection> | null = null;
  let closed = false;
  const again = (): Promise<SignerConnection> =>
    (entering ??= enter(socketPath, secret)
      .then((entered) => {
        log.warn({}, 'the connection to the signer was lost; reconnecting');
        connection = entered.connection;
        acceptedRisks = entered.admission.acceptedRisks;
        return connection;
      })
      .finally(() => (entering = null)));
  const call: SignerCaller['call'] = (method, params) =>
    connection.isLost && !closed
      ? again().then((entered) => entered.call(method, params))
      : connection.call(method, params);
  return {
    modes,
    pays,
    acceptedRisks: () => acceptedRisks,
    ...signerCalls({ call }),
    close: async () => {
      closed = true;
      connection.close();
    },
  };
}

interface Entered {
  readonly connection: SignerConnection;
  readonly admission: SignerAdmission;
}

async function enter(socketPath: string, secret: string): Promise<Entered> {
  const socket = await connectTo(socketPath);
  try {
    const admission = await prove(socket, secret);
    socket.removeAllListeners('data').removeAllListeners('close').removeAllListeners('error');
    return { admission, connection: new SignerConnection(socket) };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

const isChallenge = holding<SignerChallenge>('challenge');
const isAdmission = holding<Partial<SignerAdmission>>('proof');

/** Sends a proof for the signer's challenge and trusts the signer once it has sent one for ours. */
function prove(socket: Socket, secret: string): Promise<SignerAdmission> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      clearTimeout(timer);
      reject(new SignerUnavailable(`the signer's proof failed: ${reason}`));
    };
    const timer = setTimeout(() => fail('it did not answer in time'), PROOF_TIMEOUT_MS);
    const challenge = randomBytes(32).toString('hex');
    let signers: string | null = null;
    socket.once('close', () => fail('it closed the connection; do both have the same SIGNER_SECRET_FILE?'));
    socket.on('error', (error) => fail(error.message));
    readJsonLines(socket, {
      onFault: fail,
      onValue: (value) => {
        if (signers === null) {
          signers = isChallenge(value) ? String(value.challenge) : '';
          socket.write(
            jsonLine({
              challenge,
              proof: proofOf(secret, 'service', { signer: signers, service: challenge }),
            } satisfies ServiceProof),
          );
          return;
        }
        const admission = isAdmission(value) ? value : {};
        if (!isSame(String(admission.proof), proofOf(secret, 'signer', { signer: signers, service: challenge })))
          return fail('what listens there does not know the secret');
        clearTimeout(timer);
        const { modes = [], pays = false, acceptedRisks = [] } = admission;
        resolve({ proof: '', modes, pays, acceptedRisks });
      },
    });
  });
}
