/* Stands in for AMD's RCCL, which Debian's 6.4.3 lacks: each call is an error (ncclInternalError).
 */
int ncclAllGather(void) { return 3; }
int ncclAllReduce(void) { return 3; }
int ncclBroadcast(void) { return 3; }
int ncclCommAbort(void) { return 3; }
int ncclCommCount(void) { return 3; }
int ncclCommDeregister(void) { return 3; }
int ncclCommDestroy(void) { return 3; }
int ncclCommGetAsyncError(void) { return 3; }
int ncclCommInitRankConfig(void) { return 3; }
int ncclCommRegister(void) { return 3; }
int ncclCommSplit(void) { return 3; }
int ncclGetUniqueId(void) { return 3; }
int ncclGroupEnd(void) { return 3; }
int ncclGroupStart(void) { return 3; }
int ncclRecv(void) { return 3; }
int ncclReduceScatter(void) { return 3; }
int ncclSend(void) { return 3; }
const char* ncclGetErrorString(int error) { return error ? "there is no RCCL" : "no error"; }
const char* ncclGetLastError(void* communicator) { return communicator ? "there is no RCCL" : ""; }
