import { z } from 'zod';

const word = z.string().optional().catch(undefined);
const faultForm = z
  .object({ code: word, syscall: word, path: word, address: word, message: word, port: z.number().optional() })
  .partial()
  .catch({});

/** Describes a system fault to the operator; null for any other error. */
export function systemFault(error: unknown): string | null {
  const { code, syscall, path, address, port, message } = faultForm.parse(error);
  const at = address === undefined ? (path ?? 'the socket') : `${address}:${port}`;
  if (syscall === 'listen' || syscall === 'bind') {
    if (code === 'EADDRINUSE')
      return `${at} is in use by another program: stop it, or choose another port (PORT, OPS_PORT, ADMIN_PORT; 0 takes a free one)`;
    if (code === 'EACCES')
      return `${at} cannot be used by this user: choose a port from 1024 on (PORT, OPS_PORT, ADMIN_PORT), or another directory`;
    if (code === 'EADDRNOTAVAIL') return `${at} is not an address of this machine: check HOST`;
    return null;
  }
  const why = syscall === 'mkdir' && code === 'ENOENT' ? NO_FOLDERS : FILE_FAULTS[code ?? ''];
  if (why !== undefined && path !== undefined)
    return `${path} ${why}; check DATA_DIR and SIGNER_JOURNAL_DIR, their owner and their mode`;
  if (code === 'ERR_SQLITE_ERROR' && /readonly database|unable to open database|disk is full/i.test(message ?? ''))
    return `a file of DATA_DIR cannot be written (${message}); check the directory's owner and mode, and the space on its disk`;
  return null;
}

const NO_FOLDERS = 'cannot be created: its file system holds no folders of its users';

const FILE_FAULTS: Readonly<Record<string, string>> = {
  EACCES: 'cannot be written by this user',
  EPERM: 'cannot be written by this user',
  EROFS: 'is on a read-only file system',
  ENOSPC: 'is on a full disk',
  EDQUOT: 'is on a disk whose quota is exhausted',
  ENOTDIR: 'is below something that is not a directory',
};
