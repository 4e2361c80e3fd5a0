autocmd BufRead,BufNewFile *.tsr setfiletype tsr
