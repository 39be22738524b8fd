import fc from 'fast-check';

/* That a property fails is all that is asked; the smallest example takes minutes to find. */

fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });
